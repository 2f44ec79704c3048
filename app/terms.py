"""Terms of the field explained where they stand: what a popover beside a text says."""

from collections.abc import Sequence

from shuffleproof.app.plain import escaped
from shuffleproof.core import glossary


def beside(text: str, *first: str, leave: Sequence[str] = ()) -> str | None:
    """The help of a text: what is to be said first, then every term in it.

    Args:
        text: that stands on the page.
        first: other sentences, which come before.
        leave: texts whose terms are explained elsewhere.

    >>> print(beside("falls by Kendall τ", "Why."))
    Why.
    <BLANKLINE>
    **Kendall τ**: How far two orders agree: 1 the same, 0 unrelated, −1 reversed. *(Kendall 1938)*
    """
    known = {term for other in leave for term in glossary.found(other)}
    terms = [term for term in glossary.found(text) if term not in known]
    told = [*(escaped(one) for one in first if one), *map(written, terms)]
    return "\n\n".join(told) or None


def written(term: glossary.Term) -> str:
    """A term as Markdown."""
    source = f" *({escaped(term.source)})*" if term.source else ""
    return f"**{escaped(term.name)}**: {escaped(term.meaning)}{source}"

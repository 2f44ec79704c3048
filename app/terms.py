"""Explanations of technical terms, for the help next to a text."""

from collections.abc import Sequence

from shuffleproof.app.plain import escaped
from shuffleproof.core import glossary


def help_with_terms(text: str, *first: str, leave: Sequence[str] = ()) -> str | None:
    """Help of a text: lead sentences, then the definition of every term in the text.

    Args:
        text: text on the page.
        first: lead sentences.
        leave: texts whose terms are explained elsewhere.

    >>> print(help_with_terms("falls by Kendall τ", "Why."))
    Why.
    <BLANKLINE>
    **Kendall τ**: How far two orders agree: 1 the same, 0 unrelated, −1 reversed. *(Kendall 1938)*
    """
    known = {term for other in leave for term in glossary.terms_in(other)}
    terms = [term for term in glossary.terms_in(text) if term not in known]
    sentences = [*(escaped(one) for one in first if one), *map(term_text, terms)]
    return "\n\n".join(sentences) or None


def term_text(term: glossary.Term) -> str:
    """Term with definition and source, as Markdown."""
    source = f" *({escaped(term.source)})*" if term.source else ""
    return f"**{escaped(term.name)}**: {escaped(term.meaning)}{source}"

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


MARK = "\ue000{}\ue001"
"""Placeholder of a link while the text around it is escaped."""


def linked_definition(term: glossary.Term) -> str:
    """Definition of a term, as Markdown, with links to other terms on the page.

    >>> linked_definition(next(term for term in glossary.TERMS if term.name == "LambdaMART"))
    'Boosted trees trained on how much swapping two documents would change [NDCG](#ndcg).'
    """
    links: list[str] = []

    def link(hit: str, other: glossary.Term) -> str:
        if other is term:
            return hit
        links.append(f"[{escaped(hit)}](#{glossary.anchor(other)})")
        return MARK.format(len(links) - 1)

    text = escaped(glossary.rewrite_terms(term.meaning, link))
    for at, one in enumerate(links):  # inserted after escaping, which would break their Markdown
        text = text.replace(MARK.format(at), one)
    return text


def term_text(term: glossary.Term) -> str:
    """Term with definition and source, as Markdown."""
    source = f" *({escaped(term.source)})*" if term.source else ""
    return f"**{escaped(term.name)}**: {escaped(term.meaning)}{source}"

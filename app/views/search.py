"""Search for pages, terms, data sets, rankers, studies, queries and documents.

It is also shown at an unknown address.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

import numpy as np
import streamlit as st

from shuffleproof.app import captions, data_sets, library, services, state, study_access, terms
from shuffleproof.app.navigation import EVERY, PAGES, SEARCH
from shuffleproof.app.plain import escaped, escaped_sentence
from shuffleproof.app.sidebar import shown_page
from shuffleproof.app.study import parts
from shuffleproof.core.data import browse
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.glossary import TERMS
from shuffleproof.core.library import entries
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.words import counted

SHOWN = 40
"""Most results of a kind and rank."""

KINDS = ("page", "term", *dict.fromkeys(entries.KINDS.values()), "query", "document")
RANKS = ("Whole words", "Beginnings of words", "Parts of words", "Similar or single words")
ALIKE = 0.75
"""Least similarity of words that count as one, as `difflib` measures it."""

WORD = re.compile(r"\w+")
LITTLE = frozenset(
    WORD.findall("a an are do does how i in is it me my of own show the to what which")
)
"""Words of questions that say little."""


@dataclass(frozen=True)
class Result:
    """One result.

    Attributes:
        kind: kind of the thing found, in the singular.
        text: name or description.
        path: page or tab that shows it; empty for terms.
        query: query parameters of the link.
        words: further words that are searched.
    """

    kind: str
    text: str
    path: str = ""
    query: dict[str, str] = field(default_factory=dict)
    words: str = ""


def rank(sought: str, text: str) -> int | None:
    """0 if a text has all sought words, 1 if it has their beginnings, 2 their parts; else None.

    >>> text = "Initial ranking · a worse initial ranking"
    >>> [rank(sought, text) for sought in ("a worse ranking?", "init", "king", "curve", "?")]
    [0, 1, 2, None, None]
    """
    words, asked = WORD.findall(text.lower()), WORD.findall(sought.lower())
    wanted = [word for word in asked if word not in LITTLE] or asked
    fits: tuple[Callable[[str, str], bool], ...] = (str.__eq__, str.startswith, str.__contains__)
    for at, fit in enumerate(fits):
        if wanted and all(any(fit(word, one) for word in words) for one in wanted):
            return at
    return None


def page() -> None:
    """Draw the search box and the results."""
    path = shown_page().path
    parts.header("Search", "Where is a query, document, term, page, ranker or study?")
    if path not in EVERY:
        st.warning(escaped(f"There is no page at /{path}."), icon=":material/link_off:")
    usual = "" if path in EVERY else path.replace("-", " ")
    text = st.text_input(
        "Search for", value=usual, key="for", bind="query-params",
        placeholder="Words, or the id of a query or document",
    )  # fmt: skip
    found = (results(text, state.data()) or near(text)) if text.strip() else {}
    if text.strip() and not found:
        st.info("Nothing fits. Try another word.", icon=":material/search_off:")
    with st.container(key="links_found", gap="xxsmall"):
        for at, hits in found.items():
            st.subheader(RANKS[at], anchor=False)
            for kind in KINDS:
                _draw([hit for hit in hits if hit.kind == kind])
        for result in _pages() if not found else ():
            parts.link(result.path, result.text)


def _draw(hits: list[Result]) -> None:
    for hit in hits[:SHOWN]:
        if hit.kind == "term":
            st.markdown(terms.term_text(next(term for term in TERMS if term.name == hit.text)))
        else:
            parts.link(hit.path, escaped_sentence(f"{hit.text} · {hit.kind}"), query=hit.query)
    if len(hits) > SHOWN:
        st.caption(f"and {counted(len(hits) - SHOWN, hits[0].kind)} more; add a word.")


def results(sought: str, data: str) -> dict[int, list[Result]]:
    """Results by rank, best first.

    Args:
        sought: words, in any order.
        data: data set whose queries and documents are searched.
    """
    by_rank: dict[int, list[Result]] = {}
    for result in (*_pages(), *_terms(), *_stored(), *_within(data, sought)):
        if (at := rank(sought, f"{result.text} {result.words} {result.kind}")) is not None:
            by_rank.setdefault(at, []).append(result)
    return dict(sorted(by_rank.items()))


def near(sought: str) -> dict[int, list[Result]]:
    """Pages and terms with some of the sought words, or words spelled alike; most words first.

    >>> near("ndgc")[3][0].text
    'NDCG'
    """
    wanted = [word for word in WORD.findall(sought.lower()) if word not in LITTLE]
    counts = []
    for result in (*_terms(), *_pages()):
        words = WORD.findall(f"{result.text} {result.words}".lower())
        fits = sum(bool(get_close_matches(word, words, 1, ALIKE)) for word in wanted)
        counts += [(fits, result)] if fits else []
    most = max((fits for fits, _ in counts), default=0)
    found = [result for fits, result in counts if fits == most]
    return {len(RANKS) - 1: found} if found else {}


def _pages() -> Iterator[Result]:
    for page in filter(SEARCH.__ne__, PAGES.values()):
        yield Result("page", f"{page.title}: {page.about}", page.path)


def _terms() -> Iterator[Result]:
    for term in TERMS:
        yield Result("term", term.name, words=" ".join(term.forms))


def _stored() -> Iterator[Result]:
    for name in state.data_sets():
        yield Result("data set", name, "data", {state.USE: name})
    for entry in library.entries():
        kind, key = entry.key.kind, str(entry.key)
        if kind != "data" and not entry.part:
            name = PAGES[entry.name].title if entry.name in PAGES else library.entry_name(entry)
            text = f"{name} · {with_display_names(entry.summary)}"
            at = study_access.place(entry.artefact) if kind == "study" else None
            path, query = at or ("library", {"chosen": key})
            yield Result(entries.KINDS[kind], text, path, query, f"{entry.name} {key}")


def _within(data: str, sought: str) -> Iterator[Result]:
    """Queries and documents of a data set whose ids or texts contain the sought words."""
    try:
        fold = services.fold(str(services.data_set(data).key))
    except ShuffleproofError:  # deleted meanwhile
        return
    texts = captions.of(data)
    titles = {} if texts is None else texts.documents["title"].fillna("").to_dict()
    by_query = {} if texts is None else texts.queries["text"].fillna("").to_dict()
    titled = {str(name) for name, title in titles.items() if rank(sought, title) is not None}
    for word, part in data_sets.PART_OF.items():
        dataset: RankingDataset = getattr(fold, part)
        shown = {"view": "Queries", "part": word}
        path, address = ("invariance", {}) if part == "test" else ("data", shown)
        for query in dict.fromkeys(dataset.query_ids):
            text = f"{query} {by_query.get(query, '')}"
            yield Result("query", text.strip(), path, {**address, "query": query})
        if dataset.doc_ids is None:
            continue
        for row in browse.matching_documents(dataset, sought, titled).tolist():
            document = dataset.doc_ids[row]
            query = dataset.query_ids[np.searchsorted(dataset.offsets, row, side="right") - 1]
            text = f"{document} {titles.get(document, '')}".strip()
            yield Result("document", text, "data", shown | {"query": query})

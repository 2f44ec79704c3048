"""The page Retrieval: two retrievers side by side for a query, and the stored study."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import scoring, services, state
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.study.page import StudyPage, draw_listless
from shuffleproof.core.retrieval import ingest, planted
from shuffleproof.core.retrieval.collection import Collection
from shuffleproof.core.retrieval.name import parse_fusion
from shuffleproof.core.retrieval.registry import (
    RETRIEVERS,
    IndexedCollection,
    Retriever,
    retriever_entry,
)
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.retrieval.question import Retrieval
from shuffleproof.core.studies.listless.retrievers import label
from shuffleproof.core.studies.registry import COLLECTION_STUDIES
from shuffleproof.core.words import counted, percent

BEST = 10
SIDES = {"left": "bm25", "right": "lsi"}
"""Address keys of the two retrievers side by side, with their defaults."""

LABELS = {"left": "Retriever", "right": "Compared with"}
COMBINED = ("rrf:bm25+lsi",)
"""Fusions that the page offers."""

DEPTH = 1000
PLAIN = tuple(entry.name for entry in RETRIEVERS.values() if not entry.presets)
"""Retrievers without a network: the web process searches with them itself."""
LEARNT = ("snrm", "fnrm", "cnrm")
"""Artefact kinds of learnt retrievers."""

WORK = "shuffleproof.core.answers.retrieval"


def page() -> None:
    """Draw the choice of a collection, a query of it, then its stored study."""
    parts.header("Retrieval", Retrieval.title)
    names = [planted.NAME]
    names += [name for name, key in services.store().names().items() if key.kind == ingest.KIND]
    missing = state.missing_option("collection", names)
    chosen = parts.select(
        "Text collection", "collection", names, planted.NAME,
        help="`shuffleproof ingest-collection FOLDER --name mine` imports another one.",
    )  # fmt: skip
    state.instead("collection", missing, chosen)
    if chosen == planted.NAME:
        st.caption(
            "A generated collection with two vocabularies per subject. It demonstrates the "
            "page; it does not compare retrievers."
        )
    with parts.errors_shown(again=True):
        draw_listless(PAGE, COLLECTION_STUDIES, chosen)
        st.subheader("Search")
        _search(chosen)


@st.fragment
def _search(name: str) -> None:
    """Draw two retrievers side by side for one query."""
    indexed = _indexed(name)
    collection = indexed.collection
    sizes = f"{counted(len(collection), 'document')}, {counted(len(collection.queries), 'query')}."
    parts.note(" ".join((sizes, *collection.notes)))
    left, middle, right = st.columns([4, 2, 2], vertical_alignment="bottom")
    usual = collection.queries[0] if collection.queries else ""
    text = left.text_input("Query", value=usual, key="q", bind="query-params", max_chars=400)
    here = [*PLAIN, *_trained(name)]
    sides = {side: _side(place, side, here) for side, place in (("left", middle), ("right", right))}
    wanted = str(text or "").strip()
    if not wanted:
        st.info("Type a query.")
        return
    answers = {side: _found_documents(name, retriever, wanted) for side, retriever in sides.items()}
    ranked = {side: list(answer["documents"]) for side, answer in answers.items()}
    parts.sentence(_in_words(sides, ranked))
    grades = _grades(indexed, wanted)
    for side, place in zip(SIDES, st.columns(2, gap="medium"), strict=True):
        other = next(each for each in SIDES if each != side)
        ranks = {document: rank for rank, document in enumerate(ranked[other], start=1)}
        lines = []
        for at, document in enumerate(ranked[side][:BEST]):
            facts = [_placed(ranks.get(document), label(sides[other]))]
            if grades:
                facts.append(f"grade {grades[document]}" if document in grades else "not judged")
            if answers[side]["why"]:
                facts.append(f"shares {_dimensions(answers[side]['why'][at])}")
            lines.append(f"{at + 1}. {_document(collection, document, facts)}")
        with place:
            st.markdown(f"**{escaped(label(sides[side]))}**")
            st.markdown("\n".join(lines) or "No document matches.")
    if any(answer["why"] for answer in answers.values()):
        st.caption(
            "For learnt retrievers: the three dimensions with the largest share of the score, "
            "named by their strongest terms."
        )


def _placed(rank: int | None, retriever: str) -> str:
    """Rank of a document by another retriever, in words."""
    return f"rank {rank} by {retriever}" if rank else f"not found by {retriever}"


def _document(collection: Collection, document: int, facts: Sequence[str]) -> str:
    """A document in Markdown: title, snippet, id and other facts."""
    name, text = collection.doc_ids[document], collection.snippet(document)
    lines = (
        f"**{escaped(collection.titles[document] or name)}**",
        *([escaped(text)] if text else []),
        f":small[:gray[{escaped(' · '.join([f'document {name}', *facts]))}]]",
    )
    return "  \n   ".join(lines)


def _side(place: DeltaGenerator, side: str, here: Sequence[str]) -> str:
    """Draw the choice of a retriever or a fusion."""
    options = [*here, *COMBINED]
    return parts.select(LABELS[side], side, options, SIDES[side], place=place, format_func=label)


def _in_words(sides: Mapping[str, str], ranked: Mapping[str, Any]) -> str:
    """Sentence on the overlap of the two retrievers' best documents."""
    labels = [label(name) for name in sides.values()]
    best = [set(documents[:BEST]) for documents in ranked.values()]
    same = len(best[0] & best[1])
    return (
        f"{same} of the best {BEST} are the same; {labels[0]} alone has {len(best[0]) - same}, "
        f"{labels[1]} alone {len(best[1]) - same}."
    )


def _grades(indexed: IndexedCollection, text: str) -> dict[int, int]:
    """Grades by document if the text is a judged query of the collection, else none."""
    collection = indexed.collection
    if text not in collection.queries:
        return {}
    return collection.judgments(collection.queries.index(text))


@st.cache_resource(max_entries=4, show_spinner="Reading the collection …")
def _indexed(name: str) -> IndexedCollection:
    return IndexedCollection(ingest.find(name, services.store()), services.store())


@st.cache_resource(max_entries=16, show_spinner="Preparing …")
def _retriever(name: str, retriever: str) -> Retriever:
    return retriever_entry(retriever).build(_indexed(name))


def _found_documents(name: str, retriever: str, text: str) -> dict[str, Any]:
    """Documents of a retriever; a learnt one runs in the scoring process, which has torch."""
    made_of = parse_fusion(retriever)
    if set(made_of.parts if made_of else (retriever,)) <= set(PLAIN):
        documents = _retriever(name, retriever).search([text], DEPTH).of(0)[0]
        return {"documents": documents.tolist(), "why": []}
    question = {"retriever": retriever, "text": text, "k": DEPTH}
    answer: dict[str, Any] = scoring.resident().ask(
        f"{WORK}:find_documents", _collection_arguments(name) | question
    )
    return answer


def _trained(name: str) -> tuple[str, ...]:
    """Learnt retrievers that are trained on the collection."""
    return _trained_now(name) if any(map(services.artefacts, LEARNT)) else ()


@services.until_stored(kinds=LEARNT, show_spinner="Looking for trained retrievers …")
def _trained_now(name: str) -> tuple[str, ...]:
    return tuple(scoring.resident().ask(f"{WORK}:trained_retrievers", _collection_arguments(name)))


def _collection_arguments(name: str) -> dict[str, str]:
    return {"store": str(services.store().root), "collection": name}


def _dimensions(reasons: Sequence[Mapping[str, Any]]) -> str:
    """Dimensions that a document shares with the query, named by their terms.

    >>> _dimensions([{"terms": ["heat", "slab"], "share": 0.25}])
    'heat slab (25 %)'
    """
    return " · ".join(
        f"{' '.join(reason['terms'])} ({percent(reason['share'])})" for reason in reasons
    )


def _arrived(artefact: Artefact) -> tuple[bool, str, str]:
    """Sort key of studies: by arrival, shipped ones in the order of their kinds."""
    is_own, when, key = services.arrival_order(artefact)
    place = list(COLLECTION_STUDIES).index(str(artefact.recipe["kind"]))
    return is_own, when if is_own else f"{place:02}", key


PAGE = StudyPage("Retrieval", rankers=lambda _result: (), measured=False, sort_key=_arrived)

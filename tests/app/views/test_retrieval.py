"""The page Retrieval: the shipped collection, a query of it, its study, other collections."""

import re
from functools import partial

import pytest

from shuffleproof.app import scoring
from shuffleproof.app.plain import escaped
from shuffleproof.app.study_access import place
from shuffleproof.core.answers import retrieval as answers
from shuffleproof.core.data.catalogue import SAMPLE_FOLDER
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval import planted, snrm
from shuffleproof.core.retrieval.ingest import ingest
from shuffleproof.core.retrieval.registry import RETRIEVERS, IndexedCollection
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.studies.registry import COLLECTION_STUDIES
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.tables import Table
from tests import app_pages, app_perturbed, small_collection
from tests.app_pages import words

COLLECTION = planted.planted_collection()
opened = partial(app_pages.opened, "retrieval", data="sample")


@pytest.fixture
def store(dashboard, tmp_path, monkeypatch):
    monkeypatch.setattr(scoring, "resident", app_perturbed.Here)
    return dashboard(tmp_path)


def shown(page):
    """What each retriever finds: a list of Markdown, a document an item."""
    lists = [one.value for one in page.markdown if one.value.startswith("1. ")]
    return [re.split(r"^\d+\. ", one, flags=re.MULTILINE)[1:] for one in lists]


def titles_of(documents):
    return [f"**{escaped(COLLECTION.titles[int(document)])}**" for document in documents]


def titles(items):
    return [item.split("  \n")[0] for item in items]


def test_the_shipped_collection_is_searched_by_two_retrievers(store):
    page = opened()
    indexed = IndexedCollection(COLLECTION, store)
    query = COLLECTION.queries[0]
    both = [
        RETRIEVERS[name].build(indexed).search([query], 10).of(0)[0] for name in ("bm25", "lsi")
    ]
    own = slice(*COLLECTION.judged_offsets[:2])
    grades = dict(zip(COLLECTION.judged[own], COLLECTION.grades[own], strict=True))
    for items, documents in zip(shown(page), both, strict=True):
        assert titles(items) == titles_of(documents)
        for item, document in zip(items, documents.tolist(), strict=True):
            assert escaped(COLLECTION.texts[document][:100]) in item
            assert f"document {COLLECTION.doc_ids[document]} · " in item
            assert (f"grade {grades.get(document)}" if document in grades else "not judged") in item
    assert f"rank {both[1].tolist().index(both[0][0]) + 1} by LSI" in shown(page)[0][0]
    same = len(set(both[0].tolist()) & set(both[1].tolist()))
    assert f"{same} of the best 10 are the same" in words(page)
    assert "generated collection" in words(page)


def test_the_shipped_network_is_asked_and_says_which_dimensions_matched(store):
    page = opened(query={"right": "snrm@small"})
    query = COLLECTION.queries[0]
    latent = snrm.LEARNER.at(
        IndexedCollection(COLLECTION, Store(store.root, default_store().bundled)), "small"
    )
    documents = latent.search([query], 10).of(0)[0].tolist()
    words_found, items = shown(page)
    assert titles(items) == titles_of(documents)
    best = latent.index.explain(latent.vectors([query]), documents[0])
    whole = sum(added for _, added in best)
    wanted = [
        f"{' '.join(latent.terms_of(dimension))} ({100 * added / whole:.0f} %)"
        for dimension, added in best[:3]
    ]
    assert escaped(f"shares {' · '.join(wanted)}") in items[0]
    assert "shares" not in " ".join(words_found), "words have no dimensions"
    assert "SNRM small alone" in words(page)


def test_only_what_is_trained_is_offered(store, tmp_path):
    small_collection.write(tmp_path / "texts")
    run_to_end(ingest(tmp_path / "texts", "mine", store))
    root = str(store.root)
    assert answers.trained_retrievers({"store": root, "collection": "mine"}) == []
    assert answers.trained_retrievers({"store": root, "collection": "sample"}) == [
        "snrm@small", "snrm-prf@small",
    ]  # fmt: skip
    page = opened(query={"collection": "mine"})
    assert not any("SNRM" in str(one.options) for one in page.selectbox if one.label == "Retriever")


def test_every_kind_of_study_of_the_collection_is_a_choice_here(store):
    there = Store(SAMPLE_FOLDER).artefacts("study")
    shipped = [one for one in there if one.recipe["kind"] in COLLECTION_STUDIES]
    assert {one.recipe["kind"] for one in shipped} == set(COLLECTION_STUDIES)
    for one in shipped:
        page = opened(query={"study": str(one.key)})
        assert not [each for each in page.button if each.key == "newer results"], "all shipped"
        kind = COLLECTION_STUDIES[one.recipe["kind"]]
        every = list(kind.sections_module().sections(StudyResult.open(one.path), View()))
        tables = [part for part in every if isinstance(part, Table) and not part.folded]
        columns = [set(frame.value) for frame in page.dataframe]
        assert all(any(set(table.frame) <= own for own in columns) for table in tables)
        assert place(one) == ("retrieval", {"collection": "sample", "study": str(one.key)})

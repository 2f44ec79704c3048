"""The search: kinds of results, their order, and the pages that they lead to."""

from itertools import chain

import pytest

from shuffleproof.app import services, terms
from shuffleproof.app.navigation import EVERY, MOVED, PAGES, address_of
from shuffleproof.app.views import search
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.glossary import TERMS
from tests.app_pages import opened


@pytest.fixture(autouse=True)
def shipped_store(dashboard, tmp_path):
    """The results below are those of what is shipped, not of the user's own store."""
    dashboard(tmp_path)


@pytest.mark.parametrize(
    ("sought", "kind", "text", "rank"),
    [
        ("invariance", "page", "Invariance", 0),
        ("Bootstrap", "page", "", None),
        ("BCa", "term", "BCa interval", 0),
        ("listwise", "term", "", None),
        ("sample", "data set", "sample", 0),
        ("setrank imsab", "ranker", "SetRank IMSAB", 0),
        ("setrank-imsab-init", "ranker", "SetRank IMSAB + init", 0),
        ("worst-case", "study", "Worst case", 0),
        ("which document falls most?", "page", "Invariance", 0),
        ("my own model", "page", "Your ranker", 0),
        ("599", "query", "599", 0),
        ("D0599-0", "document", "D0599-00", 1),
        ("599", "document", "D0599-00", 2),
    ],
)
def test_each_kind_is_found_by_its_words(sought, kind, text, rank):
    found = search.results(sought, SAMPLE)
    of_kind = {at: [hit.text for hit in hits if hit.kind == kind] for at, hits in found.items()}
    assert next((at for at, hits in of_kind.items() if hits), None) == rank
    assert list(found) == sorted(found)
    assert rank is None or any(one.startswith(text) for one in of_kind[rank])


def test_results_lead_to_pages_and_tabs():
    for hit in chain(*search.results("sample", SAMPLE).values()):
        assert hit.kind == "term" or address_of(hit.path)[0] in EVERY
        assert hit.kind in search.KINDS
    (query,) = search.results("599", SAMPLE)[0]
    assert (query.path, query.query) == ("invariance", {"query": "599"})


def test_every_address_means_one_page():
    parts = [part.path for page in EVERY.values() for part in page.tabs or (page,)]
    assert len(parts) == len(set(parts)) == len(PAGES)
    assert {path for path, _ in MOVED.values()} <= EVERY.keys()
    assert all(MOVED[path][0] == path for path in MOVED.keys() & EVERY)


def test_the_page_shows_the_glossary_or_all_pages():
    page = opened("search", {"for": "term"}, data=SAMPLE)
    assert {terms.term_text(term) for term in TERMS} <= {one.value for one in page.markdown}
    page = opened("search", {"for": "zzz"}, data=SAMPLE)
    assert "Nothing fits" in page.info[0].value
    assert len(page.get("page_link")) == len(PAGES) - 1


def test_a_data_set_that_is_gone_is_no_error():
    assert "gone" not in services.store().names()
    assert 0 in search.results("invariance", "gone")

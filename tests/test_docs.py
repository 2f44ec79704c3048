"""Generated parts of the documents are up to date, and links between documents lead somewhere."""

import re

import pytest

from tests import docs
from tests.places import ROOT

TEXTS = [ROOT / "README.md", *docs.PAGES]
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")


def anchors(text):
    """Anchors of the headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", docs.PAGES, ids=lambda page: page.stem)
def test_generated_parts_are_as_make_docs_writes_them(page):
    text = page.read_text(encoding="utf-8")
    assert text == docs.generated(text), "run `make docs`"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_links_lead_to_files_and_headings(page):
    text = page.read_text(encoding="utf-8")
    for path, anchor in LINK.findall(text):
        target = (page.parent / path) if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), anchor


def test_readme_leads_to_every_page():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in docs.PAGES if f"(docs/{page.name})" not in readme] == []

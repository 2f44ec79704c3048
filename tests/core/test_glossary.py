"""The glossary: every term is found where it is written, explained once, and by its source."""

import pytest

from shuffleproof.app import data_frame, terms
from shuffleproof.app.plain import escaped
from shuffleproof.core.glossary import TERMS, terms_in
from shuffleproof.core.studies.tables import Column


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_term_is_found_in_every_form_and_in_no_other_word(term):
    for form in (term.name, *term.forms):
        assert term in terms_in(f"So: {form.upper()}, again.")
        assert term not in terms_in(f"x{form}x")
    assert term.meaning.endswith(".")
    assert escaped(term.source) in terms.help_with_terms(term.name)


def test_no_two_terms_share_a_form_and_all_are_sorted():
    forms = [form.lower() for term in TERMS for form in (term.name, *term.forms)]
    assert len(forms) == len(set(forms))
    names = [term.name.lower() for term in TERMS]
    assert sorted(names) == names


def test_what_stands_beside_explains_each_term_once():
    told = terms.help_with_terms("NDCG@10 by Holm, NDCG@5", "Why.", leave=["Holm"])
    assert told.startswith("Why.")
    assert told.count("**NDCG**") == 1
    assert "Holm 1979" not in told
    assert terms.help_with_terms("nothing of the field") is None


def test_a_tables_header_explains_its_term():
    config = data_frame.config(Column("tau", "Kendall τ", ".3f", "of both answers"))
    assert config["help"].startswith("of both answers")
    assert "How far two orders agree" in config["help"]

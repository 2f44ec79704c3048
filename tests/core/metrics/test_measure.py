"""The Measure value prints and parses back to itself; the registry knows every name."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.metrics.list_functions import FUNCTIONS
from shuffleproof.core.metrics.measure import MEASURES, Measure
from shuffleproof.core.parameters import parameters

DECLARED = {declared.name: declared for declared in parameters(Measure)}


@st.composite
def fields(draw):
    """The fields of a measure; the measure itself is made in the test, where beartype may draw."""
    entry = MEASURES[draw(st.sampled_from(sorted(MEASURES)))]
    values = {"cutoff": draw(st.none() | st.integers(1, 10_000)) if entry.cut else None}
    for name in entry.conventions:
        choices = DECLARED[name].choices
        fractions = name in {"p", "multiple", "recall"}
        numbers = st.floats(0, 0.99) if fractions else st.integers(1, 60)
        values[name] = draw(st.sampled_from(choices) if choices else numbers)
    return {"name": entry.name, **values}


@given(fields())
def test_a_measure_prints_and_parses_back_to_itself(chosen):
    measure = Measure(**chosen)
    assert Measure.parse(str(measure)) == measure
    assert eval(repr(measure), {"Measure": Measure.parse}) == measure  # noqa: S307 (our own text)


@given(fields())
def test_only_conventions_that_differ_are_printed(chosen):
    measure = Measure(**chosen)
    for name, declared in DECLARED.items():
        if name != "cutoff":
            printed = f"{name}={getattr(measure, name)}" in str(measure)
            assert printed == (getattr(measure, name) != declared.default)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("ndcg@10", "NDCG@10"),
        (" NDCG ( ideal = shown , gain=linear ) @ 5 ", "NDCG(gain=linear,ideal=shown)@5"),
        ("NDCG(ideal=judged)@10", "NDCG@10"),
        ("MEANNDCG ( ties = trec )", "MeanNDCG(ties=trec)"),
        ("rbp(p=.95, REL=2)@20", "RBP(relevant=2,p=0.95)@20"),
        ("P(rel=2)@5", "P(relevant=2)@5"),
    ],
)
def test_parsing_is_lenient_in_spaces_and_case(text, printed):
    assert str(Measure.parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("ndcg_cut_10", "NDCG(gain=linear)@10"),
        ("nDCG@10", "NDCG(gain=linear)@10"),
        ("nDCG(dcg='exp-log2')@10", "NDCG@10"),
        ("ndcg", "NDCG(gain=linear)"),
        ("rbp", "NormRBP(p=0.9)"),
        ("rbp(p=0.9)", "RBP(p=0.9)"),
        ("IPrec@0.1", "IPrec(recall=0.1)"),
        ("Rprec_mult_0.20", "Rprec(multiple=0.2)"),
        ("ndcg_cut.10", "NDCG(gain=linear)@10"),
        ("Recall_100", "R@100"),
        ("R-prec", "Rprec"),
        ("SetP", "P"),
    ],
)
def test_a_name_of_another_tool_brings_its_gain(text, printed):
    assert str(Measure.parse(text)) == printed
    in_bundle = Measure.parse(text, {"gain": "exp2", "p": 0.5})
    assert in_bundle.gain == Measure.parse(text).gain


@pytest.mark.parametrize(
    "text",
    [
        "@10",
        "NDCG@",
        "NDCG@2.5",
        "NDCG(ideal=best)@10",
        "NDCG(ideal)@10",
        "NDCG(ideal=shown,ideal=shown)",
        "NDCG(colour=red)",
        "NDCG@10@5",
        "P(gain=linear)@5",
        "NDCG(relevant=2)",
        "AP(relevant=0)",
        "RBP(p=1)",
        "P(p=0.5)@5",
        "P(rel=2,relevant=2)@5",
        "IPrec@10",
        "SetF@1",
    ],
)
def test_a_wrong_text_is_a_parameter_error(text):
    with pytest.raises(ParameterError):
        Measure.parse(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Hit@10", "Success@10"),
        ("Prec@5", "P@5"),
        ("NDGC(gain=linear)@5", "NDCG@5"),
        ("ndcg_cut.5,10", "NDCG@10"),
    ],
)
def test_a_refused_name_comes_with_the_measure_that_it_is_near_to(text, meant):
    with pytest.raises(UsageError, match=re.escape(f"(did you mean {meant}?)")):
        Measure.parse(text)
    assert str(Measure.parse(meant)) == meant


def test_conventions_in_words():
    words = Measure("NDCG", 5, "linear", "letor", empty="skip", ties="row").convention()
    assert words == (
        "NDCG@5 · gain: y · discount: letor · ideal: judged · no relevant: left out · ties: by row"
    )
    assert "gain" not in Measure("AP").convention()


@given(fields())
def test_two_measures_that_differ_differ_in_words_or_are_equal(chosen):
    measure = Measure(**chosen)
    for empty in DECLARED["empty"].choices:
        other = measure.under(empty=empty)
        assert (other.convention() == measure.convention()) == (other == measure), other


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_every_entry_tells_what_it_is(name):
    entry = MEASURES[name]
    assert entry.name == name
    assert (entry.kernel is not None) != (name in FUNCTIONS)
    assert entry.summary
    assert entry.source
    assert set(entry.conventions) <= set(DECLARED)


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_under_passes_over_what_a_measure_does_not_have(name):
    cut = MEASURES[name].cut
    changed = Measure(name, 3 if cut else None).under(
        gain="linear", discount="letor", ideal="shown", relevant=2, top_grade=3, cutoff=7
    )
    assert changed.cutoff == (7 if cut else None)
    for field in ("gain", "discount", "ideal", "relevant", "top_grade"):
        own = field in MEASURES[name].conventions
        assert (getattr(changed, field) != DECLARED[field].default) == own

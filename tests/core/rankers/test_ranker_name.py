"""A ranker's name: every way to say one parses and prints back, and means one ranker."""

import re
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from shuffleproof.core.errors import UsageError
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.combining import Fusion, ShuffleOptions
from shuffleproof.core.rankers.name import SPOKEN, Kind, RankerName
from shuffleproof.core.studies.kinds.initial_ranking import sections
from shuffleproof.core.studies.kinds.initial_rankings import sections as initial_rankings_sections
from shuffleproof.core.studies.kinds.initial_rankings.ranking_conditions import TRAINED
from shuffleproof.core.studies.kinds.set_size import sections as set_size_sections
from shuffleproof.core.studies.kinds.set_size import study as set_size
from shuffleproof.core.studies.result import StudyResult

R, S, C = Kind.REGISTERED, Kind.STORED, Kind.COMBINATION
NAMES = [
    # text, kind, base, preset, digits, what people read
    ("dlcm", R, "dlcm", "", "", "DLCM"),
    ("setrank-imsab-init@tuned", R, "setrank-imsab-init", "tuned", "",
     "SetRank IMSAB + init tuned"),
    ("feature:39", R, "feature:39", "", "", "feature:39"),
    ("lambdamart@small~0a1b2c", R, "lambdamart", "small", "", "LambdaMART small 0a1b2c"),
    ("oracle", R, "oracle", "", "", "oracle"),
    ("dlcm#3f2a91", S, "dlcm", "", "3f2a91", "DLCM"),
    ("scores#01", S, "scores", "", "01", "scores"),
    ("rrf:dlcm+mart@small", C, "rrf:dlcm+mart", "", "", "RRF(DLCM, MART small)"),
    ("rrf-20:dlcm+mart#0a1b", C, "rrf-20:dlcm+mart", "", "", "RRF-20(DLCM, MART)"),
    ("mean-rank:feature:3+ranksvm+mart", C, "mean-rank:feature:3+ranksvm+mart", "", "",
     "Mean-rank(feature:3, RankSVM, MART)"),
    ("shuffled:dlcm@tuned", C, "shuffled:dlcm", "", "", "Shuffled(DLCM tuned)"),
    ("shuffled-kemeny-32:dlcm", C, "shuffled-kemeny-32:dlcm", "", "", "Shuffled-kemeny-32(DLCM)"),
    ("shuffled-4:rrf:dlcm+mart", C, "shuffled-4:rrf:dlcm+mart", "", "",
     "Shuffled-4(RRF(DLCM, MART))"),
    ("rrf:shuffled-borda:dlcm+mart", C, "rrf:shuffled-borda:dlcm+mart", "", "",
     "RRF(Shuffled-borda(DLCM), MART)"),
    ("subset-5:setrank-imsab@small", C, "subset-5:setrank-imsab", "", "",
     "Subset-5(SetRank IMSAB small)"),
    ("pairwise-goa:pair-net", C, "pairwise-goa:pair-net", "", "", "Pairwise(Pair net, goa)"),
    ("pairwise-multi-quicksort-7:mart@small", C, "pairwise-multi-quicksort-7:mart", "", "",
     "Pairwise(MART small, multi-quicksort, 7)"),
    ("scores:my runs/a@1#2+b.txt", Kind.FILE, "scores", "", "", "a@1#2+b.txt"),
    ("lightgbm:~/model.txt", Kind.FILE, "lightgbm", "", "", "model.txt"),
    ("dlcm_mine:score", Kind.FUNCTION, "dlcm_mine:score", "", "", "dlcm_mine:score"),
    ("initial ranking", Kind.INITIAL, "initial ranking", "", "", "initial ranking"),
    ("initial: mart@small", Kind.INITIAL, "initial: mart", "", "", "initial: MART small"),
]  # fmt: skip


@pytest.mark.parametrize("case", NAMES, ids=lambda case: case[0])
def test_every_way_to_name_a_ranker_parses_and_prints_back(case):
    text, kind, base, preset, digits, display = case
    name = RankerName.parse(text)
    assert str(name) == text
    assert (name.kind, name.base, name.preset, name.digits) == (kind, base, preset, digits)
    assert name.display == display
    assert name == RankerName.of(text) == RankerName.parse(str(name))
    assert hash(name) == hash(RankerName.parse(str(name)))
    assert [name == RankerName.parse(other[0]) for other in NAMES].count(True) == 1


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("shuffled-mean-16:rrf-60:a+b", "shuffled:rrf:a+b"),
        ("setrank-imsab 3f2a91", "setrank-imsab#3f2a91"),
        ("subset:dlcm", "subset-3:dlcm"),
    ],
)
def test_what_means_the_same_is_the_same(text, printed):
    assert RankerName.parse(text) == RankerName.parse(printed)
    assert str(RankerName.parse(text)) == printed


def test_what_a_combination_is_made_of():
    name = RankerName.parse("shuffled-kemeny-32:rrf:dlcm@small+mart#0a1b")
    assert name.options == ShuffleOptions(32, "kemeny")
    (fused,) = name.parts
    assert fused.options == Fusion("rrf", 60)
    assert [str(leaf) for leaf in name.leaves] == ["dlcm@small", "mart#0a1b"]
    assert name.last_digits == "0a1b"
    assert not RankerName.parse("rrf:dlcm#0a1b+mart#0a1c").last_digits


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("", "names no ranker: write dlcm"),
        ("dlcm@", "dlcm@tuned"),
        ("@small", "dlcm@tuned"),
        ("dlcm#", "dlcm#3f2a91"),
        ("dlcm#mine", "digits of a stored ranker's key"),
        ("dlcm@small#0a1b", "dlcm#3f2a91"),
        ("shuffled-0:dlcm", "shuffles is"),
        ("subset-1:dlcm", "size is"),
        ("subset-mean:dlcm", "write subset:a+b"),
        ("rrf:", "name its members"),
        ("rrf-best:a+b", "name its members"),
        ("rrf:dlcm", "two or more"),
        ("rrf:a++b", "two or more"),
        ("rrf:a+a", "once"),
        ("rrf:a+mean-rank:b", "two or more"),
        ("rrf-mean:a+b", "write rrf:a+b"),
        ("mean-rank-3:a+b", "write mean-rank:a+b"),
        ("127.0.0.1:8000/rerank", "write http://HOST:PORT/PATH"),
        ("tei:localhost:8000/rerank", "write http://HOST:PORT/PATH"),
        ("http:/localhost/rerank", "write http://HOST:PORT/PATH"),
    ],
)
def test_what_means_nothing_is_refused_with_a_remedy(text, remedy):
    with pytest.raises(UsageError, match=re.escape(remedy)):
        RankerName.parse(text)
    assert str(RankerName.of(text)) == text  # a label is shown as it is


def test_every_registered_ranker_has_a_name_for_people_and_is_its_own_base():
    fitted = {name for name, entry in registry.RANKERS.items() if entry.learns}
    assert set(SPOKEN) == fitted
    for name in registry.RANKERS:
        for preset in registry.RANKERS[name].presets if name != registry.FEATURE else ():
            assert registry.entry(RankerName.parse(f"{name}@{preset}").base).name == name


def test_only_a_registered_name_has_a_recipe_and_takes_a_preset():
    for text, kind, *_ in NAMES:
        name = RankerName.parse(text)
        if kind is not R:
            assert registry.at(name, "small") == name
            with pytest.raises(UsageError, match=r"no ranker is called|leave it out"):
                registry.spec_of(name)
    assert str(registry.at(RankerName.parse("mart"), "small")) == "mart@small"
    assert str(registry.at(RankerName.parse("mart@tuned"), "small")) == "mart@tuned"


def result_of(labels, family, levels):
    """A study in which every ranker has other values at every level."""
    rows = [
        {"ranker": label, "family": family, "level": level, "draw": 0, "tau": 1.0, "set_size": 9.0}
        for label in labels
        for level in levels
    ]
    stored = ["NDCG@10", set_size.ORDER, set_size.SHIFT]
    recipe = {
        "rankers": [[label, "0"] for label in labels],
        "perturbations": [[family, level] for level in levels],
        "measures": stored[:1],
        "stored": stored,
    }
    values = np.random.default_rng(0).random((len(rows), len(stored), 12), np.float32)
    ids = tuple(map(str, range(12)))
    return StudyResult(recipe, pd.DataFrame(rows), values, ids, {"queries": 12})


def claimed(figure, labels):
    """The rankers that a claim of the paper is told of, by these labels of a study."""
    if figure == "Figure 3":
        result = result_of(labels, "transpositions", [0.0, 80.0])
        found = sections.claim(result, "transpositions", "NDCG@10")
        return found.get("claim", "").split(" falls further than ")
    if figure == "Table 3":
        found = set_size_sections.claim(result_of(labels, "40", [40.0, 240.0]), "NDCG@10")
        return steps_of(found.get("steps", ()))
    verdict = initial_rankings_sections.claim(result_of(labels, TRAINED, [0.0]), "NDCG@10")
    return [] if verdict is None else steps_of(verdict.steps.to_dict("records"))


def steps_of(steps):
    return [*(step["less"] for step in steps), *(step["more"] for step in steps[-1:])]


CLAIMS = {
    "Figure 3": ("dlcm", "setrank-imsab-init"),
    "Table 3": ("setrank-imsab", "setrank-msab", "dlcm"),
    "Table 4": ("setrank-imsab", "setrank-imsab-init", "setrank-imsab-multi-init"),
}
"""Whose order each of the paper's claims is about."""


@pytest.mark.parametrize("figure", CLAIMS)
@pytest.mark.parametrize("ending", ["", "@tuned", "#3f2a91"])
@pytest.mark.parametrize("other", ["{}-like", "{}_mine:score", "shuffled:{}", "initial: {}"])
def test_a_claim_is_told_of_presets_and_stored_rankers_and_of_none_named_alike(
    figure, ending, other
):
    first, *rest = (f"{name}{ending}" for name in CLAIMS[figure])
    alike = other.format(CLAIMS[figure][0])
    assert claimed(figure, [alike, *rest]) in ([], [""])
    assert claimed(figure, [alike, first, *rest]) == [first, *rest]


def test_a_name_has_no_field_that_is_not_printed():
    """Two names that differ print differently, so that texts in recipes say everything."""
    printed = {field.name for field in fields(RankerName)} - {"kind"}
    assert printed == {"head", "preset", "revision", "digits", "path", "parts", "options"}

"""The study of preferences: values by their definitions, proven bounds, budgets, found again."""

import json
import shlex
from itertools import combinations

import numpy as np
import pytest

from shuffleproof.core.aggregate import planted
from shuffleproof.core.aggregate.disturbances import AS_IS, calls_at
from shuffleproof.core.aggregate.kemeny import kemeny
from shuffleproof.core.aggregate.preferences import Pairs
from shuffleproof.core.aggregate.registry import AGGREGATORS, Terms, aggregate
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import reproduce
from shuffleproof.core.studies.kinds.preferences import sections, study
from shuffleproof.core.studies.kinds.preferences.question import PreferenceAggregation
from shuffleproof.core.studies.methods import paragraph, references
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View

SAMPLE = planted.planted_preferences()
ASKED = (
    "study preferences --aggregators goa,quicksort,multi-quicksort,kemeny --draws 2 --queries 6 "
    "--sizes 50,200"
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("preferences"))


@pytest.fixture(scope="module")
def result(store):
    assert main([*ASKED.split(), "--store", str(store.root)]) == 0
    (artefact,) = (one for one in store.artefacts("study") if one.recipe["sizes"] == [50, 200])
    return StudyResult.open(artefact.path)


def answered(capsys, store, line):
    capsys.readouterr()
    code = main([*line.split(), "--store", str(store.root), "--json"])
    out, err = capsys.readouterr()
    assert out, err
    return code, json.loads(out)


def ran(asked, pairs, labels=()):
    """The study of these preferences, in a store of memory's life."""
    names = tuple(f"q{at}" for at in range(len(pairs)))
    return study.Material("mine", names, tuple(pairs), tuple(labels), "judgments"), asked


def values(result, name, family, level, measure):
    return np.asarray(result.draws(name, family, level, measure), np.float64)


def test_three_agreements_are_those_of_their_definitions(result):
    for query in range(6):
        pairs, grades = SAMPLE.pairs(query), SAMPLE.labels[query]
        best = kemeny(pairs.means)
        order = aggregate("goa", pairs).order.tolist()
        couples = list(combinations(order, 2))
        agreed = sum(
            (pairs.values[one, other] + 1 - pairs.values[other, one]) / 2 for one, other in couples
        )
        place = {item: at for at, item in enumerate(best.order.tolist())}
        apart = sum(place[one] > place[other] for one, other in couples)
        unequal = [(grades[one], grades[other]) for one, other in couples
                   if grades[one] != grades[other]]  # fmt: skip
        gains = [(2 ** grades[item] - 1) / np.log2(at + 2) for at, item in enumerate(order[:10])]
        ideal = [(2**grade - 1) / np.log2(at + 2)
                 for at, grade in enumerate(sorted(grades, reverse=True)[:10])]  # fmt: skip
        expected = {
            study.AGREEMENT: agreed / len(couples),
            study.TAU: 1 - 2 * apart / len(couples),
            study.CORRECT: sum(one > other for one, other in unequal) / len(unequal),
            study.RELEVANCE: sum(gains) / sum(ideal),
            study.CALLS: len(couples),
            study.BEST: 1 - best.bound / len(couples),
        }
        for measure, value in expected.items():
            found = values(result, "goa", AS_IS, 0.0, measure)[0, query]
            assert found == pytest.approx(value, abs=1e-6), measure


def consistent(items, seed):
    """Preferences that one order explains, and the place of each item in it."""
    place = generator(seed, "order").permutation(items)
    matrix = np.where(place[:, None] < place[None, :], 1.0, 0.0)
    np.fill_diagonal(matrix, np.nan)
    return Pairs(matrix, np.ones((items, items)))


def test_on_consistent_preferences_everybody_finds_the_order(tmp_path):
    pairs = [consistent(items, items) for items in (2, 5, 9)]
    asked = PreferenceAggregation(
        aggregators=tuple(AGGREGATORS), disturbances=("order",), draws=2, sizes=()
    )
    material, asked = ran(asked, pairs)
    found = StudyResult.open(run_to_end(study.run(material, asked, Store(tmp_path))).path)
    assert found.measures == (study.AGREEMENT, study.TAU), "no labels, nothing of labels"
    for name in AGGREGATORS:
        for family, level in ((AS_IS, 0.0), ("order", 1.0)):
            assert (values(found, name, family, level, study.TAU) == 1.0).all(), (name, family)
            assert (values(found, name, family, level, study.AGREEMENT) == 1.0).all()


def test_bounds_are_measured_where_they_are_proven_and_hold(tmp_path):
    draws = generator(1, "tournaments")
    pairs, labels = [], []
    for _ in range(40):
        upper = np.triu(draws.random((8, 8)), 1)
        matrix = upper + np.tril(1 - upper.T, -1)
        np.fill_diagonal(matrix, np.nan)
        pairs.append(Pairs(matrix, np.ones((8, 8))))
        labels.append((draws.random(8) < 0.5).astype(float))
    asked = PreferenceAggregation(
        aggregators=("goa", "quicksort"), disturbances=("noise", "missing", "calls"),
        levels=(0.3,), draws=8, sizes=(),
    )  # fmt: skip
    material, asked = ran(asked, pairs, labels)
    found = StudyResult.open(run_to_end(study.run(material, asked, Store(tmp_path))).path)
    frame = sections.bounds(found)
    assert frame["holds"].all()
    assert set(frame["bound"]) == {one.words for one in sections.PROVEN}
    proven = set(frame[frame["bound"].str.contains("loss")]["disturbance"])
    assert proven == {AS_IS, "noise"}, "with pairs missing, or not asked, nothing is proven"
    least = [kemeny(one.weights).cost for one in pairs]
    for at, query in enumerate(pairs):
        made = aggregate("quicksort", query, Terms(seed=3)).order
        loss = np.nansum(query.weights) - sum(
            query.weights[one, other] for one, other in combinations(made.tolist(), 2)
        )
        ratio = values(found, "quicksort", AS_IS, 0.0, study.LOSS)[3, at]
        assert ratio == pytest.approx(loss / least[at], abs=1e-5)
    broken = found.values.copy()
    broken[:, study.STORED.index(study.SHARE)] = 0.4
    told = StudyResult(found.recipe, found.trials, broken, found.query_ids, found.facts)
    assert not sections.bounds(told)["holds"].all()


def test_no_aggregator_asks_more_than_it_may(result):
    for level in (0.1, 0.5):
        allowed = [calls_at(level, SAMPLE.pairs(query)) for query in range(6)]
        for name in result.trials["ranker"].unique():
            asked = values(result, name, "calls", level, study.CALLS)
            assert (asked <= allowed).all()
    every = values(result, "goa", "calls", 1.0, study.AGREEMENT)
    assert np.array_equal(every[0], values(result, "goa", AS_IS, 0.0, study.AGREEMENT)[0])


def test_disturbances_are_measured_against_what_was_given(result):
    """Noise at 1 − p is noise at p turned round, so an order that follows it cannot agree."""
    given = values(result, "goa", AS_IS, 0.0, study.AGREEMENT).mean()
    falling = [values(result, "goa", "noise", level, study.AGREEMENT).mean()
               for level in (0.05, 0.3)]  # fmt: skip
    assert given > falling[0] > falling[1] > 0.5
    attacked = values(result, "goa", "adversarial", 0.1, study.AGREEMENT).mean()
    random = values(result, "goa", "noise", 0.1, study.AGREEMENT).mean()
    assert attacked < random, "the adversary does worse than chance with as many pairs"


def test_calls_against_items_are_counted_on_generated_tournaments(result):
    frame = sections.scale(result).set_index(["aggregator", "items"])
    assert frame.loc[("goa", 50), "calls"] == 50 * 49 / 2
    assert frame.loc[("quicksort", 200), "calls"] < 200 * 199 / 4
    assert ("kemeny", 200) not in frame.index, "an exact search of 200 items is not waited for"
    assert (frame["seconds"] > 0).all()
    pairs = study.tournament(50)
    assert np.allclose((pairs.values + pairs.values.T)[np.triu_indices(50, 1)], 1.0)


def test_the_answer_has_the_rows_that_it_says(store, result, capsys):
    code, answer = answered(capsys, store, ASKED)
    assert (code, answer["result"]) == (0, result.directory.name)
    rows = {(row["aggregator"], row["disturbance"], row["level"], row["measure"]): row
            for row in answer["summary"]}  # fmt: skip
    mean = values(result, "goa", "noise", 0.1, study.AGREEMENT).mean()
    assert rows["goa", "noise", 0.1, study.AGREEMENT]["mean"] == pytest.approx(mean, abs=1e-6)
    assert not any(row["disturbance"] == study.SCALE for row in answer["summary"])
    assert ("goa", "runs", 5.0, study.AGREEMENT) not in rows, "it runs no QuickSort"
    assert answer["consistency"]["cyclic_triads"] > 0
    assert len(answer["headline"]["text"].split()) <= 20


def test_other_aggregators_repeat_nothing(store, result, monkeypatch):
    seen = []
    monkeypatch.setattr(study, "aggregate", lambda name, *rest: seen.append(name) or
                        aggregate(name, *rest))  # fmt: skip
    line = ASKED.replace("goa,quicksort", "borda,quicksort")
    assert main([*line.split(), "--store", str(store.root)]) == 0
    assert set(seen) == {"borda"}


def test_a_function_of_a_ranking_data_set_prefers(tmp_path, capsys):
    store = Store(tmp_path)
    assert main(["ingest", "sample_data", "--name", "mine", "--store", str(tmp_path)]) == 0
    line = (
        "study preferences --data mine --function feature:1 --aggregators goa,sop --queries 5 "
        "--disturbances noise --levels 0.2 --draws 1 --sizes 20"
    )
    dry = answered(capsys, store, f"{line} --dry-run")[1]
    assert dry["result"] is None
    code, answer = answered(capsys, store, line)
    assert code == 0
    assert answered(capsys, store, f"{line} --dry-run")[1]["result"] == answer["result"]
    assert answer["consistency"]["cyclic_triads"] == 0, "scores of documents contradict nothing"
    given = {row["aggregator"]: row["mean"] for row in answer["summary"]
             if row["disturbance"] == AS_IS and row["measure"] == study.TAU}  # fmt: skip
    assert given.keys() == {"goa", "sop"}
    assert min(given.values()) > 0.9, "ties apart it is the order of the scores"


def test_it_is_asked_again_by_its_own_command_and_told_in_words(result):
    words = shlex.split(reproduce.study_command(result.recipe, result.facts))
    assert words[1:3] == ["study", "preferences"]
    assert words[words.index("--aggregators") + 1] == "goa,quicksort,multi-quicksort,kemeny"
    text = paragraph(result.recipe, result.facts)
    assert "aggregators: goa,quicksort,multi-quicksort,kemeny" in text
    assert any("Cohen" in source for source in references(result.recipe, result.facts))
    assert sections.headline(result, View(family="calls")).text.endswith(".")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--aggregators goaa", "did you mean goa"), ("--aggregators ,", "name at least one"),
        ("--disturbances noize", "did you mean noise"), ("--data nothing", "nothing"),
        ("--disturbances noise --levels 2", "shares from 0 to 1"),
        ("--disturbances runs --levels 0.5", "whole numbers"), ("--draws 0", "draws"),
        ("--function pair-nett", "did you mean pair-net"), ("--sizes 9000", "sizes"),
    ],
)  # fmt: skip
def test_wrong_questions_are_refused(store, capsys, flags, said):
    assert main(["study", "preferences", *flags.split(), "--store", str(store.root)]) in {1, 2}
    assert said in capsys.readouterr().err

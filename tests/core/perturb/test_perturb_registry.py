"""Properties that every family keeps, and chains too: walked over the whole registry."""

import re
from dataclasses import MISSING, fields, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import competition_ranks, offsets_of, segment_ids
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import ParameterError, UnknownNameError, UsageError
from shuffleproof.core.perturb.base import (
    Chain,
    DataPerturbation,
    Perturbation,
    origins,
    perturb,
    sources,
)
from shuffleproof.core.perturb.features import SignAttack
from shuffleproof.core.perturb.levels import levels_of
from shuffleproof.core.perturb.names import FAMILIES as NAMES
from shuffleproof.core.perturb.registry import (
    PERTURBATIONS,
    PerturbationEntry,
    entry_of,
    parse,
    perturbation,
    tau_left,
    tau_shared,
)
from shuffleproof.core.seeds import generator

CHAINS = (
    "transpositions:5+shuffle-shown",
    "shuffle-shown:1+cut",
    "duplicates:2+transpositions",
    "feature-noise:0.5+distractors",
    "label-noise:0.2+label-censored",
)
FAMILIES = [*PERTURBATIONS, *CHAINS]
LENGTHS = [0, 1, 2, 40, 7, 3, 0, 12]
MOVING_CELLS = {"gradient-sign", "column-shuffled"}


def test_names_are_known_without_the_registry():
    told = "core/perturb/names.py and the tables of families name others, or in another order"
    assert tuple(PERTURBATIONS) == NAMES, told


def judged_of(lengths=LENGTHS, *, rankings=2, ids=True, seed=0):
    """Lists over a larger data set, shown in a scrambled order, with some relevant documents."""
    draws = np.random.default_rng(seed)
    offsets = offsets_of(np.array([length + 2 for length in lengths], dtype=np.int64))
    docs = int(offsets[-1])
    dataset = RankingDataset(
        features=draws.normal(size=(docs, 5)).astype(np.float32)
        * np.array([1, 10, 0, 1e6, 0.1], np.float32),
        labels=draws.integers(0, 3, docs).astype(np.float32),
        offsets=offsets,
        query_ids=tuple(f"q{index}" for index in range(len(lengths))),
        feature_ids=(1, 2, 3, 4, 5),
        doc_ids=TextColumn.of([f"d{number:03d}" for number in draws.permutation(docs)])
        if ids
        else None,
    )
    rows = [
        low + draws.permutation(high - low)[: high - low - 2] for low, high in pairwise(offsets)
    ]
    rows = np.concatenate([*rows, np.zeros(0)]).astype(np.int64)
    prior = draws.normal(size=(len(rows), rankings)).astype(np.float32)
    blank = CandidateLists(
        offsets_of(np.array(lengths, dtype=np.int64)),
        np.arange(len(lengths)),
        rows,
        np.zeros(prior.shape, np.int32),
        prior,
    )
    return JudgedLists(dataset, blank.reranked(prior) if rankings else blank)


def armed(family, level, judged):
    """The perturbation, with directions if it is an attack."""
    change = perturbation(family, level)
    if isinstance(change, SignAttack):
        signs = np.sign(np.random.default_rng(5).normal(size=judged.dataset.features.shape))
        return replace(change, directions=signs.astype(np.float32))
    return change


def levels(family):
    return entry_of(family).default_levels


def after_all(family, judged, seed=1):
    for level in levels(family):
        change = armed(family, level, judged)
        yield change, perturb(change, judged, generator(seed, family))


@cache
def whole():
    """The lists that most tests perturb."""
    return judged_of()


@cache
def perturbed(family, seed=1):
    """Each level of a family on these lists, made once: what is given and made stays as it is."""
    return tuple(after_all(family, whole(), seed))


def arrays_of(judged):
    lists, dataset = judged.lists, judged.dataset
    return [
        *(lists.offsets, lists.queries, lists.rows, lists.ranks, lists.prior),
        *(dataset.features, dataset.labels, dataset.offsets),
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_declares_itself_and_prints_back(family):
    entry = entry_of(family)
    assert len(entry.summary.split()) > 2
    assert entry.summary.endswith(".")
    assert entry.source
    assert entry.unit
    assert entry.changes
    for level in entry.default_levels:
        change = entry.at(level)
        assert isinstance(change, Perturbation)
        assert (change.family, change.level) == (family, level)
        assert str(parse(str(change))) == str(change)
        assert change.changes == entry.changes
    assert levels_of(family)[0] == entry.unchanged
    several = len(entry.default_levels) > 1
    assert not several or entry.default_levels[0] == entry.unchanged, "lists as they are come first"
    assert not entry.anew or "system" in entry.changes, "`anew` is of families of the system"


def bounds_of(unit):
    """(least level, greatest one, whether it is a whole number) by what a level counts."""
    if unit.startswith("share"):
        return 0.0, 0.5 if "each end" in unit else 1.0, False
    if unit.startswith("1: "):
        return -1.0 if "−1: " in unit else 0.0, 1.0, True
    if "τ" in unit:
        return -1.0, 1.0, False
    scale = "standard deviation" in unit
    return float(unit == "blocks per list"), 256.0 if "threads" in unit else np.inf, not scale


def test_what_a_level_means_is_tested_of_every_family():
    """By its name in these files; attacks and system families are tested with their studies."""
    files = ("test_perturb.py", "test_perturb_families.py", "test_perturb_levels.py")
    tests = " ".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in files)
    own = {name for name, entry in PERTURBATIONS.items() if "system" not in entry.changes}
    named = {name for name in own if re.search(rf"[\"+]{name}[\":@+]", tests)}
    missing = sorted(own - named - {"gradient-sign"})
    assert not missing, f"none of {', '.join(files)} says what a level of {missing} means"


@pytest.mark.parametrize("family", PERTURBATIONS)
def test_levels_are_bounded_by_what_they_count(family):
    entry = entry_of(family)
    bounds = entry.low, entry.high, entry.whole
    assert bounds == bounds_of(entry.unit), f"low, high, whole do not fit what {entry.unit} counts"
    at = entry.default_levels
    assert len(set(at)) == len(at)
    away = [abs(level - entry.unchanged) for level in at]
    assert away == sorted(away)
    beyond = [entry.low - 1, entry.high + 1, np.nan, np.inf]
    for level in [*beyond, *([1.5, -0.5, entry.low + 0.5] if entry.whole else [])]:
        with pytest.raises(ParameterError, match="a whole number" if entry.whole else "a number"):
            entry.at(level)
        with pytest.raises(ParameterError, match=family):
            perturbation(family, level)
    highest = entry.high if np.isfinite(entry.high) else 10**6
    assert [entry.at(level).level for level in (entry.low, highest)] == [entry.low, highest]


@pytest.mark.parametrize("family", FAMILIES)
def test_total_and_what_is_given_stays_as_it_is(family):
    for lengths in ([], [0], [1], [2]):
        judged = judged_of(lengths)
        copies = [array.copy() for array in arrays_of(judged)]
        stays_whole(judged, after_all(family, judged))
        for array, copy in zip(arrays_of(judged), copies, strict=True):
            assert np.array_equal(array, copy)
    stays_whole(whole(), perturbed(family))
    for array, copy in zip(arrays_of(whole()), arrays_of(judged_of()), strict=True):
        assert np.array_equal(array, copy)


def stays_whole(judged, made):
    """Perturbed lists are lists of the data set: ranks follow scores, no list is lost."""
    for change, after in made:
        assert np.array_equal(after.lists.queries, judged.lists.queries)
        spans = after.dataset.offsets
        query = after.lists.queries[segment_ids(after.lists.offsets)]
        assert np.all((after.lists.rows >= spans[query]) & (after.lists.rows < spans[query + 1]))
        for column in range(2):
            ranks = competition_ranks(after.lists.offsets, after.lists.prior[:, column])
            assert np.array_equal(after.lists.ranks[:, column], ranks)
        if "set" not in change.changes:
            assert np.array_equal(after.lists.offsets, judged.lists.offsets)
            place = sources(judged.lists, after.lists.offsets, after.lists.rows)
            assert sorted(place) == list(range(len(judged.lists.rows)))
        assert np.all((after.lists.lengths > 0) >= (judged.lists.lengths > 0))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_not_declared_does_not_change(family):
    judged = whole()
    for change, after in perturbed(family):
        row = origins(judged, after)
        old = sources(judged.lists, after.lists.offsets, row)
        shared = old >= 0
        assert np.array_equal(row[shared], judged.lists.rows[old[shared]])
        if "features" not in change.changes:
            ours = after.dataset.features[after.lists.rows[shared]]
            assert np.array_equal(ours, judged.dataset.features[row[shared]])
        if "labels" not in change.changes:
            ours = after.dataset.labels[after.lists.rows[shared]]
            assert np.array_equal(ours, judged.dataset.labels[row[shared]])
        if "ranking" not in change.changes:
            assert np.array_equal(after.lists.prior[shared], judged.lists.prior[old[shared]])
        if not change.changes & {"order", "ranking"}:
            assert np.all(np.diff(old[shared]) > 0)
        if not change.changes & {"set"}:
            assert np.array_equal(after.dataset.offsets, judged.dataset.offsets)
        if change.changes <= {"order", "ranking"}:
            assert after.dataset is judged.dataset
        else:
            again = replace(after.dataset, fingerprint="")
            assert again.fingerprint == after.dataset.fingerprint


def touched(judged, after):
    """What of the input differs afterwards; of documents, those that are in both."""
    row = origins(judged, after)
    old = sources(judged.lists, after.lists.offsets, row)
    shared = old >= 0
    place, origin, now = old[shared], row[shared], after.lists.rows[shared]
    same = {
        "set": shared.all() and len(row) == len(judged.lists.rows),
        "order": np.all(np.diff(place) > 0),
        "ranking": np.array_equal(after.lists.prior[shared], judged.lists.prior[place]),
        "features": np.array_equal(after.dataset.features[now], judged.dataset.features[origin]),
        "labels": np.array_equal(after.dataset.labels[now], judged.dataset.labels[origin]),
    }
    return {name for name, alike in same.items() if not alike}


@pytest.mark.parametrize("family", PERTURBATIONS)
def test_what_is_declared_does_change(family):
    judged, changes = whole(), PERTURBATIONS[family].changes
    draws = [after for seed in range(3) for _, after in perturbed(family, seed)]
    if "system" in changes:
        assert changes == {"system"}
        assert all(after is judged for after in draws), "a family of the system changes no input"
        return
    never = changes - set().union(*(touched(judged, after) for after in draws))
    assert not never, f"it declares to change {sorted(never)}, and never does"


@pytest.mark.parametrize("family", [*FAMILIES, "gradient-sign@dlcm", "cut:0.5+duplicates"])
def test_a_document_joins_a_list_where_the_family_brings_some_and_nowhere_else(family):
    judged = whole()
    joined = [
        (sources(judged.lists, after.lists.offsets, origins(judged, after)) < 0).any()
        for _, after in perturbed(family)
    ]
    assert any(joined) == entry_of(family).brings, "`brings` says whether a document may join"


def test_no_family_is_silent_about_what_it_brings_and_how_far_it_reaches():
    defaults = {field.name: field.default for field in fields(PerturbationEntry)}
    assert defaults["brings"] is defaults["reach"] is MISSING


@pytest.mark.parametrize("family", FAMILIES)
def test_the_unchanged_level_changes_nothing(family):
    judged, entry = whole(), entry_of(family)
    if "+" in family:
        assert entry.draws(entry.unchanged, 7) == (7 if entry.random_before else 1)
        return
    after = perturb(armed(family, entry.unchanged, judged), judged, generator(0))
    assert after is judged, "lists stay as they are at the level `unchanged`"
    assert entry.draws(entry.unchanged, 7) == 1, "`random_before` is of chains"


@pytest.mark.parametrize("family", FAMILIES)
def test_same_generator_same_input_and_chance_is_declared(family):
    judged, entry = judged_of([*LENGTHS, 300]), entry_of(family)
    level = levels(family)[1 if len(levels(family)) > 2 else -1]
    level = 4.0 if entry.whole and entry.high == np.inf else level
    level = 0.5 if entry.high == 1 and not entry.whole else level
    change = armed(family, level, judged)
    one, same, other = (perturb(change, judged, generator(seed, "x")) for seed in (3, 3, 4))
    for ours, theirs in zip(arrays_of(one), arrays_of(same), strict=True):
        assert np.array_equal(ours, theirs)
    alike = all(
        ours.shape == theirs.shape and np.array_equal(ours, theirs)
        for ours, theirs in zip(arrays_of(one), arrays_of(other), strict=True)
    )
    drawn = entry.random and "system" not in entry.changes  # of these the rankers know
    assert alike == (not drawn), "`random` says whether two draws may differ"


@pytest.mark.parametrize("family", FAMILIES)
def test_tau_reported_is_tau_measured_over_shared_documents(family):
    judged = whole()
    for change, after in perturbed(family, 2):
        reported = tau_shared(judged, after, change)
        row = origins(judged, after)
        for index, (low, high) in enumerate(pairwise(after.lists.offsets)):
            first = judged.lists.offsets[index]
            place = {
                int(one): first + at
                for at, one in enumerate(judged.lists.rows[first : judged.lists.offsets[index + 1]])
            }
            shared = [(place[int(row[at])], at) for at in range(low, high) if int(row[at]) in place]
            if len(shared) < 2:
                assert reported[index] == 1
                continue
            old, new = np.array(shared).T
            if "ranking" in change.changes:
                expected = np.mean(
                    [
                        kendalltau(
                            judged.lists.prior[old, column], after.lists.prior[new, column]
                        ).statistic
                        for column in range(2)
                    ]
                )
            else:
                expected = kendalltau(old, new).statistic
            assert reported[index] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_order_shown_has_no_say_in_what_is_drawn(family):
    judged = whole()
    elsewhere = replace(judged, lists=perturbation("reverse-shown", 1)(judged.lists, generator(0)))
    if "order" in entry_of(family).changes and "ranking" not in entry_of(family).changes:
        return
    change = armed(family, levels(family)[-1], judged)
    if "shown" in family:
        return
    ours, theirs = (perturb(change, one, generator(5)) for one in (judged, elsewhere))
    assert np.array_equal(ours.dataset.features, theirs.dataset.features)
    assert np.array_equal(ours.dataset.labels, theirs.dataset.labels)
    for low, high in pairwise(ours.lists.offsets):
        alike = sorted(ours.lists.rows[low:high]) == sorted(theirs.lists.rows[low:high])
        assert alike, "it goes by the input order: say so by `shown` in its name"


@pytest.mark.parametrize("family", FAMILIES)
def test_lists_without_an_initial_ranking(family):
    bare = judged_of(rankings=0, ids=False)
    change = armed(family, levels(family)[-1], bare)
    if "ranking" in change.changes:
        with pytest.raises(UsageError, match="name initial rankers"):
            perturb(change, bare, generator(0))
        return
    after = perturb(change, bare, generator(0))
    assert len(after.lists) == len(bare.lists)


@pytest.mark.parametrize("family", sorted(set(PERTURBATIONS) - MOVING_CELLS))
def test_extreme_features_stay_numbers(family):
    judged = judged_of([8, 8])
    cells = judged.dataset.features.copy()
    cells[:4] = [np.inf, np.nan, 3e38, -3e38, 0]
    judged = replace(judged, dataset=replace(judged.dataset, features=cells, fingerprint=""))
    for _, after in after_all(family, judged):
        ours = after.dataset.features
        finite = np.isfinite(judged.dataset.features)
        assert "set" in PERTURBATIONS[family].changes or np.isfinite(ours[finite]).all()
        if PERTURBATIONS[family].brings:
            assert np.isfinite(after.dataset.features).mean() > 0.8


@pytest.mark.parametrize("family", PERTURBATIONS)
def test_families_that_need_the_data_set_say_so(family):
    judged = whole()
    change = armed(family, levels(family)[-1], judged)
    if isinstance(change, DataPerturbation):
        with pytest.raises(UsageError, match="needs the data set"):
            change(judged.lists, generator(0))
    else:
        after = change(judged.lists, generator(4))
        again = perturb(change, judged, generator(4)).lists
        assert np.array_equal(after.rows, again.rows)
        left = tau_left(judged.lists, after, change)
        again = tau_shared(judged, replace(judged, lists=after), change)
        assert np.array_equal(left, again, equal_nan=True)


def test_chains_apply_their_links_in_turn():
    judged = judged_of()
    chain = parse("transpositions:5+shuffle-shown:0.5+cut:0.25")
    assert isinstance(chain, Chain)
    assert chain.changes == {"ranking", "order", "set"}
    draws, lists = generator(3), judged.lists
    for text in ("transpositions:5", "shuffle-shown:0.5", "cut:0.25"):
        lists = parse(text)(lists, draws)
    assert np.array_equal(chain(judged.lists, generator(3)).rows, lists.rows)
    assert np.array_equal(perturb(chain, judged, generator(3)).lists.rows, lists.rows)


def test_chains_that_make_no_sense_and_unknown_names_are_refused():
    for text in ("label-noise:0.1+cut:0.5", "gradient-sign@dlcm:1+cut:0.5", "cut:0.5+bfloat16:1"):
        with pytest.raises(UsageError):
            parse(text)
    for text in ("transpositions:5+cuts:1", "cut@dlcm:1", "gradient-sign@:1", "+cut:1"):
        with pytest.raises(UnknownNameError):
            parse(text)
    with pytest.raises(ParameterError):
        parse("transpositions:-1+cut:0.5")
    assert entry_of("gradient-sign@dlcm@small").at(0.5).attacked == "dlcm@small"
    with pytest.raises(UsageError, match="attacks a network"):
        perturb(parse("gradient-sign:0.5"), judged_of(), generator(0))

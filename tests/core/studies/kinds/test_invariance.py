"""The certificate: a zoo of rankers, each with the verdict it must get, and what it says."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import DataError, FixedScoresError, ParameterError, UnfinishedError
from shuffleproof.core.experiment import score_floor
from shuffleproof.core.progress import limit_seconds, run_to_end
from shuffleproof.core.rankers.theorems import theorem_of
from shuffleproof.core.studies.kinds.invariance import certificate, examination, scoring, sections
from shuffleproof.core.studies.kinds.invariance import study as invariance
from shuffleproof.core.studies.kinds.invariance.verdict import INCONCLUSIVE, INVARIANT, NOT
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from tests.core.rankers.test_invariance_real import judged as strung
from tests.core.rankers.test_invariance_real import untrained
from tests.places import ROOT
from tests.zoo import ALL, ZOO, Adversary, cancelling, honest, precise, shown_as, varying


def lists_of(lengths, seed=0):
    """Random features; the first two documents of every fifth list are duplicates."""
    generator = np.random.default_rng(seed)
    offsets = ragged.offsets_of(np.array(lengths, dtype=np.int64))
    features = generator.normal(size=(offsets[-1], 6)).astype(np.float32)
    for at in range(0, len(lengths), 5):
        if lengths[at] > 1:
            features[offsets[at] + 1] = features[offsets[at]]
    dataset = RankingDataset(
        features, generator.integers(0, 3, offsets[-1]).astype(np.float32), offsets,
        tuple(f"q{at}" for at in range(len(lengths))), tuple(range(1, 7)),
    )  # fmt: skip
    return JudgedLists(dataset, CandidateLists.all_documents(dataset))


BASE = lists_of([12, 40, 7, 2, 1, 25, 33, 9, 16, 5] * 4)


def certified(ranker, base=BASE, permutations=20):
    return run_to_end(invariance.certify(ranker, base, permutations, 0))


@pytest.mark.parametrize("ranker", [*ZOO(), *precise()], ids=lambda ranker: ranker.name)
def test_every_animal_of_the_zoo_gets_its_verdict(ranker):
    card = certified(ranker)
    assert card.verdict in ranker.may_be, card.sentence()
    assert card.sentence().startswith(ranker.name)


@pytest.mark.parametrize(
    ("function", "verdict"),
    [
        (lambda x: cancelling(x.features), INCONCLUSIVE),
        (lambda x: varying(x.features), INCONCLUSIVE),
        (lambda x: cancelling(x.features) + 3 * x.places, NOT),
        (lambda x: x.features[:, 1] + 0.5 * x.places, NOT),
    ],
)
def test_a_functions_own_rounding_is_no_effect_and_no_assurance(function, verdict):
    """Its scores move by more than a thousandth of their spread, and so they do in one order."""
    far = BASE.dataset.features + np.float32(1e5)
    dataset = replace(BASE.dataset, features=far, fingerprint="")
    card = certified(Adversary("poor", function, ()), JudgedLists(dataset, BASE.lists))
    assert card.verdict == verdict, card.sentence()
    if verdict == INCONCLUSIVE:
        assert "changes of the features' last bits have effects of that size" in card.sentence()


def verdicts(scaled):
    """Of three rankers whose scores are multiplied."""
    animals = {
        "by place": lambda x: honest(x.features) + 1e-4 * x.places,
        "honest": lambda x: honest(x.features),
        "half of it": lambda x: honest(x.features) + x.places * (len(x.rows) % 2),
    }
    found = {}
    for name, function in animals.items():
        ranker = Adversary(name, lambda x, g=function: scaled * g(x), ())
        card = certified(ranker, permutations=4)
        found[name] = (card.verdict, card.queries_moved, card.queries_untold)
    return found


def test_a_positive_factor_changes_no_verdict_of_any_list():
    """Judged by its own scores: scale a list's scores and its verdict stays."""
    plain = verdicts(1.0)
    for factor in (1e-30, 2.0**-40, 1.0, 3.0, 1e30):
        assert verdicts(factor) == plain, factor


@pytest.mark.parametrize("steps", [1, 3, 100])
def test_a_certificate_that_is_ended_early_is_of_the_blocks_that_are_finished(steps):
    """It names the lists that are left; of all blocks it is that of the lists at once."""
    ranker = Adversary("place", lambda x: honest(x.features) + x.places, ())
    work = invariance.certify(ranker, BASE, 3, 0, blocks=4)
    clock = iter(range(1000))
    if steps == 1:
        with pytest.raises(UnfinishedError, match="blocks of lists"):
            run_to_end(limit_seconds(1, work, lambda: next(clock)))
        return
    card = run_to_end(limit_seconds(steps, work, lambda: next(clock)))
    whole = certified(ranker, permutations=3)
    left = len(BASE.lists) - card.queries
    assert (left > 0) == (steps == 3)
    assert [f"{left} lists, because 3 s had passed"] * (left > 0) == [
        words for words in card.unseen if "had passed" in words
    ]
    if not left:
        kept = ("verdict", "queries", "queries_moved", "permutations", "longest", "unseen")
        assert all(getattr(card, name) == getattr(whole, name) for name in kept)


def test_no_list_lends_its_scale_to_another():
    """A document at 1e8 in one list leaves the verdicts of the other lists as they are."""
    plain = Adversary("place", lambda x: 1e-3 * x.places, ())
    shouting = Adversary(
        "loud", lambda x: np.where((x.rows == 0) & (x.at == 0), 1e8, 1e-3 * x.places), ()
    )
    assert certified(shouting).queries_moved == certified(plain).queries_moved == 36


def test_verdicts_are_by_list_and_name_their_queries():
    ranker = Adversary("long", lambda x: honest(x.features) + x.places * (len(x.rows) > 30), ())
    card = certified(ranker)
    assert (card.verdict, card.queries_moved, card.queries_silent) == (NOT, 8, 4)
    assert "the ranking changes in 8 of 40 lists" in card.sentence()
    assert card.lowest_tau < 0.5


def test_tied_and_equal_documents_are_counted_list_by_list():
    judged = lists_of([3, 1, 0, 4])
    scores = np.array([1.0, 2.0, 2.0, 2.0, 7.0, 7.0, 5.0, 7.0])
    seen = examination._coverage(judged.lists, examination.kinds_of(judged), scores)
    assert seen["tied_documents"] == 2 + 3
    assert seen["equal_documents"] == 2
    assert (seen["longest"], seen["middle_length"], seen["singles"]) == (4, 2.0, 2)


def test_it_says_what_it_has_seen():
    card = certified(Adversary("honest", lambda x: honest(x.features), ()))
    assert (card.queries, card.longest, card.middle_length, card.queries_silent) == (
        40,
        40,
        10.5,
        4,
    )
    assert card.equal_documents == card.tied_documents == 16
    assert card.permutations == 800
    # lists of one have one order, lists of two have two: one of them is the order as it is
    assert card.distinct_orders < 800 - 4 * 20 - 4 * 19 + 4
    assert card.distinct_orders > 32 * 20 * 0.99
    assert "none of" in card.sentence()


def test_systematic_orders_are_counted_apart_from_the_random_ones():
    """Lists are ranked, so that their order in the data set is another one."""
    ranked = CandidateLists.ranked_by(BASE.dataset, BASE.dataset.features[:, 1:2].copy())
    honest_one = Adversary("honest", lambda x: honest(x.features), ())
    card = certified(honest_one, JudgedLists(BASE.dataset, ranked))
    assert list(card.systematic) == list(scoring.NAMES)
    assert card.systematic["reversed"] == {"shown": 36, "changed": 0}
    assert card.permutations == 800
    assert card.distinct_orders < 40 * 20
    assert "reversed 36, rotated by one 36" in card.coverage()
    assert card.witness is None
    assert card.plain()["systematic"]["reversed"]["shown"] == 36
    by_file = Adversary(
        "file", lambda x: honest(x.features) + x.places * shown_as(x, np.sort(x.rows)), ()
    )
    card = certified(by_file, JudgedLists(BASE.dataset, ranked))
    assert (card.verdict, card.failing_orders, card.queries_moved) == (NOT, 0, 20)
    assert "no random order does: as in the data set" in card.sentence()
    assert card.systematic["as in the data set"]["changed"] == 20


def test_the_witness_is_a_list_that_two_orders_rank_differently():
    last_first = Adversary("last first", lambda x: x.places.astype(np.float64), ())
    witness = certified(last_first).witness
    place = BASE.dataset.query_ids.index(witness["query"])
    length = int(np.diff(BASE.dataset.offsets)[place])
    assert witness["own"]["order"] == [str(at + 1) for at in range(5)]
    assert witness["own"]["ranking"] == [str(length - at) for at in range(5)]
    assert witness["other"]["order"][0] != "1"
    assert witness["other"]["ranking"] != witness["own"]["ranking"]
    assert 0 < witness["moved"] <= length


def test_a_bound_over_lists_stands_beside_that_over_orders():
    card = certified(Adversary("honest", lambda x: honest(x.features), ()))
    assert card.list_bound == certificate.failure_bound(0, 36) > card.failure_bound
    assert "at most 8 % of similar lists" in " ".join(card.details())
    more = {" (all)": lists_of([50, 60])}
    work = invariance.certify(
        Adversary("honest", lambda x: honest(x.features), ()), lists_of([12, 40]), 5, 0, more=more
    )
    assert run_to_end(work).list_bound == certificate.failure_bound(0, 2), "the added are no sample"


def test_no_permutation_is_no_certificate():
    with pytest.raises(ParameterError, match=r"permutations.* is '0'; it must be a whole number"):
        certified(ZOO()[0], permutations=0)


@pytest.mark.parametrize(("failures", "orders"), [(0, 20), (0, 3000), (3, 100), (50, 50)])
def test_the_bound_is_clopper_and_pearsons(failures, orders):
    stats = pytest.importorskip("scipy.stats")
    found = certificate.failure_bound(failures, orders)
    if failures == orders:
        assert found == 1.0
    else:
        assert stats.binom.cdf(failures, orders, found) == pytest.approx(0.05, rel=1e-9)


def test_scores_in_a_file_are_refused():
    ranker = replace(ZOO()[0], name="scores:mine.txt")
    with pytest.raises(FixedScoresError, match="no scores for changed lists"):
        certified(ranker)


def test_a_score_that_is_no_number_is_an_error():
    ranker = Adversary("broken", lambda x: np.where(x.rows == 30, np.nan, honest(x.features)), ())
    with pytest.raises(DataError, match="document 19 of list 2 is NaN"):
        certified(ranker)


def test_lists_of_one_and_no_lists_certify_nothing():
    for lengths in ([1, 1, 1], [0, 0], []):
        card = certified(Adversary("x", lambda x: honest(x.features), ()), lists_of(lengths))
        assert (card.verdict, card.distinct_orders, card.failure_bound) == (INCONCLUSIVE, 0, 1.0)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("name", ["setrank-msab", "setrank-imsab-init", "ranknet", "gsf", "dlcm"])
def test_networks_keep_their_verdict_when_their_last_layer_is_scaled(name, scale):
    dataset, lists = strung([40, 7, 120, 1, 13], span=4.0)
    ranker = untrained(name)
    last = getattr(ranker.network, "head", None)  # DLCM's
    last = last or [part for part in ranker.network.modules() if hasattr(part, "in_features")][-1]
    with torch.no_grad():
        for weights in last.parameters():
            weights.mul_(scale)
    card = certified(ranker, JudgedLists(dataset, lists), 5)
    assert card.verdict == (NOT if "order" in ranker.reads else INVARIANT), card.sentence()
    assert (card.theorem is not None) == (card.verdict == INVARIANT)


def test_a_theorem_names_what_was_checked_and_is_dropped_where_a_condition_fails():
    ranker = untrained("setrank-msab-init")
    found = theorem_of(ranker)
    assert "MultiHeadAttention" in found.checked[0]
    assert "mean ordinal" in found.checked[-1]
    assert theorem_of(untrained("dlcm")) is None
    assert theorem_of(untrained("setrank-msab-init", tied_ranks="first")) is None
    ranker.network.register_forward_hook(lambda *_: None)
    assert theorem_of(ranker) is None
    strange = untrained("setrank-msab")
    strange.network.blocks.append(torch.nn.Flatten())
    assert theorem_of(strange) is None
    weights = untrained("setrank-msab")
    with torch.no_grad():
        weights.network.output.weight[0, 0] = float("nan")
    assert theorem_of(weights) is None
    assert theorem_of(Adversary("mine", None, (), frozenset({"features"}))) is None


def test_a_proof_does_not_outweigh_a_measurement(monkeypatch):
    """A network whose code breaks its theorem is not invariant, whatever its parts are called."""
    dataset, lists = strung([40, 7, 120])
    ranker = untrained("setrank-msab")
    score = type(ranker.network).score

    def by_place(self, embedded, *given):
        steps = torch.arange(embedded.shape[-2], dtype=embedded.dtype)
        return score(self, embedded, *given) + steps

    monkeypatch.setattr(type(ranker.network), "score", by_place)
    assert theorem_of(ranker) is not None
    card = certified(ranker, JudgedLists(dataset, lists), 5)
    assert (card.verdict, card.theorem) == (NOT, None)


def test_lists_that_say_nothing_enter_no_bound():
    ranker = Adversary("half tied", lambda x: honest(x.features) * (len(x.rows) > 12), ())
    card = certified(ranker, lists_of([9] * 13 + [20] * 17), 20)
    assert (card.verdict, card.queries_silent, card.distinct_orders) == (INVARIANT, 13, 17 * 20)
    mute = Adversary("tied", lambda x: np.zeros(len(x.rows)), ())
    card = certified(mute, lists_of([9] * 13), 20)
    assert (card.verdict, card.distinct_orders, card.failure_bound) == (INCONCLUSIVE, 0, 1.0)


def test_rare_chance_is_not_called_an_effect_of_the_order():
    for seed in range(12):
        chance = np.random.default_rng(seed)

        def now_and_then(x, chance=chance):
            return honest(x.features) + (chance.random() < 0.02) * 10 * chance.random(len(x.rows))

        card = certified(Adversary("rare", now_and_then, ()))
        assert card.verdict != NOT, card.sentence()


def test_one_floor_for_all_who_ask():
    offsets = np.array([0, 3, 6])
    scores = np.array([1.0, 2.0, 4.0, 1e-8, 2e-8, 4e-8])
    floor = score_floor.of_scores(offsets, scores)
    np.testing.assert_allclose(floor.doubt[3:] / floor.doubt[:3], 1e-8, rtol=0.1)
    assert score_floor.same_within_floor(offsets, scores, scores * (1 + 1e-7))
    assert not score_floor.same_within_floor(
        offsets, scores, scores + np.array([0, 0, 0, 1e-10, 0, 0])
    )


def test_without_float64_scores_shares_of_the_spread_are_in_doubt_and_an_effect():
    floor = score_floor.of_scores(np.array([0, 5]), np.array([1.0, 2.0, 3.0, 4.0, 1e8]))
    step = 4 * 2.0**-22  # four float32 steps at 3, the list's median; its spread is 1.5
    assert floor.rounding.tolist() == [step / 2, step, step, 2 * step, 32.0]
    usual = np.maximum(floor.rounding, step)
    np.testing.assert_allclose(floor.doubt, usual + 1e-5 * 1.5, rtol=1e-12)
    np.testing.assert_allclose(floor.effect, usual + 1e-3 * 1.5, rtol=1e-12)


def test_more_lists_are_examined_beside_the_others():
    ranker = Adversary("long", lambda x: honest(x.features) + x.places * (len(x.rows) > 45), ALL)
    more = {" (all)": lists_of([50, 60])}
    assert certified(ranker, lists_of([12, 40])).verdict == INVARIANT
    work = invariance.certify(ranker, lists_of([12, 40]), 5, 0, more=more)
    card = run_to_end(work)
    assert (card.verdict, card.queries, card.longest) == (NOT, 4, 60)
    assert "queries q0 (all), q1 (all)" in card.sentence()
    assert (card.middle_length, card.systematic["reversed"]["shown"]) == (45, 4)
    assert card.scorings == 1 + examination.REPEATS + 5
    alone = run_to_end(invariance.certify(ranker, lists_of([50, 60]), 5, 1))
    first = certified(ranker, lists_of([12, 40]), 5)
    assert card.lists_scored == first.lists_scored + alone.lists_scored
    assert f"{card.lists_scored} lists scored in all" in card.coverage()
    assert card.fresh_processes == first.fresh_processes + alone.fresh_processes


def test_an_examination_of_an_earlier_version_is_to_be_made_again():
    (shipped,) = (ROOT / "sample_data" / "artefacts").glob("study-d2f2c1e8dfb04745")
    result = StudyResult.open(shipped)
    assert sections.headline(result, View()).label.startswith("loses ")
    earlier = replace(result, trials=result.trials.drop(columns="loss_lists"))
    with pytest.raises(DataError, match=r"Examine the rankers again\.$"):
        certificate.certificates(earlier)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            lambda x: honest(x.features) * (x.rows == np.sort(x.rows)).all() + 1e-3 * x.places,
            "loses ",
        ),
        (lambda x: honest(x.features) + 1e-2 * x.places, "reorders, loses "),
        (
            lambda x: honest(x.features) * (-1.0 if (x.rows == np.sort(x.rows)).all() else 1.0),
            "reorders, gains ",
        ),
    ],
)
def test_a_certificate_says_what_reordering_costs(function, words):
    dataset = replace(BASE.dataset, labels=np.round(honest(BASE.dataset.features) > 0, 0).astype(
        np.float32), fingerprint="")  # fmt: skip
    card = certified(Adversary("mover", function, ()), JudgedLists(dataset, BASE.lists))
    assert card.verdict == NOT
    assert card.movement().startswith(words), (card.movement(), card.loss)
    assert card.loss["low"] <= card.loss["mean"] <= card.loss["high"]


def test_rounding_is_not_taken_for_ties_by_place():
    """The sign test of honest float32 sums over the set, in many draws."""
    for seed in range(6):
        base = lists_of([12, 40, 7, 25, 33, 9, 16, 5] * 3, seed)
        far = replace(base.dataset, features=base.dataset.features + np.float32(1e5),
                      fingerprint="")  # fmt: skip
        card = certified(
            Adversary("poor", lambda x: cancelling(x.features), ()), JudgedLists(far, base.lists), 6
        )
        assert card.verdict == INCONCLUSIVE, card.sentence()


def test_a_network_in_training_mode_is_a_finding_in_certificate_and_doctor():
    from shuffleproof.core.checks import doctor
    from shuffleproof.core.checks.list_forms import ranker_of

    network = torch.nn.Sequential(torch.nn.Linear(6, 1), torch.nn.Dropout())

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = network

        def forward(self, features):
            return self.inner(features)

    for mode in (True, False):
        ranker = Net().train(mode)
        card = certified(ranker_of(ranker), permutations=2)
        assert card.verdict == INVARIANT
        note = "it came in training mode; evaluation mode was examined"
        assert (note in card.notes) == mode == ("training mode" in card.sentence())
        codes = [finding.code for finding in doctor.findings(ranker, BASE)]
        assert ("training-mode" in codes) == mode

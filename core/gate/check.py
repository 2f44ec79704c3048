"""A robustness card made file, and the same card asked of today's rankers and compared with it."""

import platform
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UnknownNameError, UsageError
from shuffleproof.core.experiment import score_floor
from shuffleproof.core.gate.card_file import CardFile, CardRanker, Condition
from shuffleproof.core.gate.comparison import (
    LEAST,
    ROUNDING,
    Comparison,
    Pair,
    Tier,
    compare,
)
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.question import Scope, rankers_of
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.workbench import Workbench, with_initial
from shuffleproof.core.words import listed

PACKAGES = ("shuffleproof", "numpy", "torch", "lightgbm")
"""Whose versions a card says, beside Python's."""

REPEATS, SHAKES = 4, 4
"""How often the noise of a ranker is looked for by scoring again, and by moving its scores."""


@dataclass(frozen=True)
class Row:
    """One ranker under one condition, against the card.

    Attributes:
        ranker: today's name.
        against: its name on the card.
        measure: as text.
        family: of perturbations.
        level: in the family's unit.
        comparison: the verdict.
    """

    ranker: str
    against: str
    measure: str
    family: str
    level: float
    comparison: Comparison

    @property
    def tier(self) -> Tier:
        """Tier of the comparison."""
        return self.comparison.tier

    def plain(self) -> dict[str, Any]:
        """Its fields side by side."""
        own = {name: value for name, value in asdict(self).items() if name != "comparison"}
        return own | asdict(self.comparison) | {"tier": self.tier.value}


@dataclass(frozen=True)
class Gate:
    """A build against its card.

    Attributes:
        rows: every ranker under every condition, the worst tier first.
        least: the smallest loss that is worth stopping for.
        notes: what else there is to know, a sentence each.
    """

    rows: tuple[Row, ...]
    least: float
    notes: tuple[str, ...] = ()

    @property
    def tiers(self) -> dict[Tier, int]:
        """Number of rows per tier, the worst first; empty tiers are left out."""
        every = [row.tier for row in self.rows]
        return {tier: every.count(tier) for tier in Tier if tier in every}


def card_of(
    workbench: Workbench, artefact: Artefact, measures: Sequence[str] = ()
) -> Generator[Progress, None, CardFile]:
    """A stored card with its rankers' noise: what card.json says.

    Args:
        workbench: of the study.
        artefact: the study.
        measures: by default those of the study; others where its stored values give them.

    Raises:
        DataError: a measure that they do not give.
    """
    result = StudyResult.open(artefact.path)
    chosen = [Measure.parse(text) for text in measures or result.measures]
    found = yield from workbench.identified_all(rankers_of(result.recipe))
    digests, rankers = dict(result.recipe["rankers"]), {}
    entered = with_initial(found)
    for at, (name, named) in enumerate(entered.items()):
        yield Progress(at, len(entered), "rankers' noise", {})
        steady, floors = noise_floor(named.ranker, workbench.prepared.test, chosen)
        by_measure = dict(zip(map(str, chosen), floors, strict=True))
        rankers[name] = CardRanker(name, digests[name], steady, by_measure)
    points = result.trials[["ranker", "family", "level"]].drop_duplicates()
    conditions = {
        (ranker, str(measure), family, float(level)): result.per_query(
            ranker, family, level, str(measure)
        )
        for measure in chosen
        for ranker, family, level in points.itertuples(index=False)
    }
    return CardFile(
        made_with=versions(),
        data={"name": workbench.name, "fingerprint": workbench.fold.fingerprint},
        lists={
            "digest": workbench.lists_digest,
            "recipe": workbench.recipe.plain(),
            "preset": workbench.preset,
        },
        draws=result.recipe["draws"],
        seed=result.recipe["seed"],
        measures={str(measure): measure.convention() for measure in chosen},
        queries=result.query_ids,
        rankers=rankers,
        conditions=conditions,
    )


def check_card(
    card: CardFile,
    store: Store,
    data: str,
    rankers: Sequence[str] | None = None,
    least: float = LEAST,
) -> Generator[Progress, None, Gate]:
    """Run a card's question on today's rankers and compare; refuse other data or lists.

    Args:
        card: what was.
        store: where data and rankers are.
        data: a stored name, a folder or `sample`.
        rankers: `name`, or `new=old` where the card has another name; none: all of the card.
        least: see `compare`.

    Raises:
        UnknownNameError: a ranker that the card does not have.
        UsageError: the card names files or functions, and no other rankers are named.
        ParameterError: `least` is not above 0.
    """
    compare([], least)  # refused before any computation
    names = names_of(card, rankers)
    lists, preset = card.lists["recipe"], card.lists["preset"]
    scope = Scope(store, data, lists, preset)
    question = Card(tuple(names), card.families, card.draws, card.seed)
    question.check(scope, from_outside=rankers is not None)
    workbench = yield from scope.open_workbench()
    unlike = tuple(_unlike(card, workbench))
    if unlike:
        return gate(card, None, names, least, unlike)
    artefact = yield from question.run(workbench)
    today = yield from card_of(workbench, artefact, tuple(card.measures))
    return gate(card, today, names, least)


def names_of(card: CardFile, rankers: Sequence[str] | None) -> dict[str, str]:
    """The card's name of each of today's rankers; see `check_card`."""
    known = [name for name in card.rankers if name != INITIAL]
    if rankers is None:
        outside = [
            name for name in known
            if any(leaf.is_from_outside for leaf in RankerName.parse(name).leaves)
        ]  # fmt: skip
        if outside:
            raise UsageError(
                f"the card is of {listed(outside)}, from outside, and nothing that a file names is "
                f"run: name what is to be checked, --rankers {','.join(known)}"
            )
        return {name: name for name in known}
    names = {}
    for text in rankers:
        new, _, old = text.rpartition("=")
        if not new or old not in known:  # a path may have a sign of equality
            new, old = (text, text) if text in known or not new else (new, old)
        if old not in known:
            raise UnknownNameError("ranker of the card (new=old where it is another)", old, known)
        names[new] = old
    return names


def gate(
    card: CardFile,
    today: CardFile | None,
    names: Mapping[str, str],
    least: float = LEAST,
    unlike: Sequence[str] = (),
) -> Gate:
    """Compare two cards.

    Args:
        card: what was.
        today: what is; None: it was not asked.
        names: today's rankers, each with its name in the card.
        least: see `compare`.
        unlike: why nothing can be compared.
    """
    places = [
        (new, condition)
        for new, old in names.items()
        for condition in card.conditions
        if condition[0] == old
    ]
    reasons = ["; ".join(unlike) or _lacking(card, today, *place) for place in places]
    pairs = [
        _pair(card, today, *place)
        for place, why in zip(places, reasons, strict=True)
        if today is not None and not why
    ]
    comparisons = iter(compare(pairs, least))
    rows = [
        Row(new, *condition, Comparison(Tier.INCOMPARABLE, why) if why else next(comparisons))
        for (new, condition), why in zip(places, reasons, strict=True)
    ]
    order = list(Tier)
    rows.sort(key=lambda row: order.index(row.tier))
    return Gate(tuple(rows), least, tuple(_notes(card, today, names)))


def versions() -> dict[str, str]:
    """Versions of the packages that determine numbers."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def _unlike(card: CardFile, workbench: Workbench) -> Iterator[str]:
    """Why a workbench gives nothing that the card can be compared with."""
    fingerprint = workbench.fold.fingerprint
    if card.data["fingerprint"] != fingerprint:
        yield (
            f"other data: the card is of {card.data['name']} ({card.data['fingerprint'][:12]}), "
            f"{workbench.name} is {fingerprint[:12]}"
        )
    elif card.lists["digest"] != workbench.lists_digest:
        yield "other candidate lists: the recipe of an initial ranker has changed"
    for text, meant in card.measures.items():
        if (now := Measure.parse(text).convention()) != meant:
            yield f"other conventions: the card's {text} is “{meant}”, today's “{now}”"


def _lacking(card: CardFile, today: CardFile | None, new: str, condition: Condition) -> str:
    """Why a condition of the card cannot be compared with that of `new`; empty where it can."""
    if today is None or (new, *condition[1:]) not in today.conditions:
        return "today's card has no such condition"
    if today.queries != card.queries:
        return "other queries"
    initial = (INITIAL, *condition[1:])
    was, now = (one.conditions.get(initial) for one in (card, today))
    if was is None or now is None or not np.allclose(was, now, 0, ROUNDING, equal_nan=True):
        return (
            "the initial ranking itself has other values here: lists or draws were made otherwise"
        )
    return ""


def _pair(card: CardFile, today: CardFile, new: str, condition: Condition) -> Pair:
    old, measure, *_ = condition
    was, now = card.rankers[old], today.rankers[new]
    noise = max(ranker.noise.get(measure, 0.0) for ranker in (was, now))
    after = today.conditions[new, *condition[1:]]
    return Pair(card.conditions[condition], after, noise, was.steady and now.steady)


def _notes(card: CardFile, today: CardFile | None, names: Mapping[str, str]) -> Iterator[str]:
    now = versions()
    others = [
        f"{name} {was} (now {now.get(name, 'none')})"
        for name, was in card.made_with.items()
        if now.get(name) != was
    ]
    if others:
        yield f"The card was made with {listed(others)}."
    left = [name for name in card.rankers if name not in {INITIAL, *names.values()}]
    if left:
        yield f"Of the card, not checked: {listed(left)}."
    if today is None:
        return
    same = [
        new for new, old in names.items() if today.rankers[new].digest == card.rankers[old].digest
    ]
    if same:
        yield f"Unchanged since the card: {listed(same)}."
    unsteady = [new for new in names if not today.rankers[new].steady]
    if unsteady:
        yield f"Not deterministic, the same lists had other scores: {listed(unsteady)}."


def noise_floor(
    ranker: Ranker, base: JudgedLists, measures: Sequence[Measure]
) -> tuple[bool, list[float]]:
    """True if a ranker repeats its scores, with its noise in each measure.

    The unchanged lists are scored again, and their scores are moved within rounding
    (`core.experiment.score_floor`). Another processor or order of summation may break a near tie
    the other way. Equal scores stay equal.

    Args:
        ranker: anything that scores.
        base: the lists as they are.
        measures: whose means are watched.

    Returns:
        Steady or not; by measure the largest distance of the mean from that of the first scores.
    """
    first = ranker.score(base.dataset, base.lists)
    again = [ranker.score(base.dataset, base.lists) for _ in range(REPEATS)]
    steady = all(score_floor.same_within_floor(base.lists.offsets, first, one) for one in again)
    moved = [*again, *(_rounded(base, first, draw) for draw in range(SHAKES))]
    means = _means(measures, base, first)
    noise = np.max([np.abs(_means(measures, base, one) - means) for one in moved], axis=0)
    return steady, np.nan_to_num(noise).tolist()


def _means(
    measures: Sequence[Measure], base: JudgedLists, scores: np.ndarray
) -> Float64[np.ndarray, " measures"]:
    values = evaluate(list(measures), base.dataset, base.lists, scores).astype(np.float64)
    counted = np.maximum(np.count_nonzero(~np.isnan(values), axis=1), 1)
    return np.nansum(values, axis=1) / counted


def _rounded(
    base: JudgedLists, scores: np.ndarray, draw: int
) -> Float32[np.ndarray, " candidates"]:
    """The scores within the floor of each, ties kept."""
    owner = ragged.segment_ids(base.lists.offsets)
    pairs = np.stack([owner, scores.astype(np.float64)], axis=1)
    _, same = np.unique(pairs, axis=0, return_inverse=True)
    doubt = score_floor.of_scores(base.lists.offsets, scores).doubt
    chance = generator(draw, "gate noise").uniform(-1.0, 1.0, len(scores))
    return (scores + doubt * chance[same.reshape(-1)]).astype(np.float32)

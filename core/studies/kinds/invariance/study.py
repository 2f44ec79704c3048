"""Study of permutation invariance: effect of the input order on a ranker, by real permutations.

Every query's list is shown in many random orders with unchanged prior ranks. The ranker scores
each of them, and the scores are compared document by document. No score is carried over here: a
ranker that is invariant by a theorem is measured like any other.
"""

from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.experiment.precomputed_scores import refuse
from shuffleproof.core.perturb.base import perturb
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.progress import Progress, TimeLimitReached
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.name import FILES, Kind, RankerName
from shuffleproof.core.rankers.outside import audit
from shuffleproof.core.rankers.outside.file_ranker import OutsideModel
from shuffleproof.core.rankers.theorems import theorem_of
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.invariance import examination
from shuffleproof.core.studies.kinds.invariance.certificate import Certificate, certificates
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.kinds.invariance.scoring import NAMES
from shuffleproof.core.studies.kinds.invariance.verdict import (
    largest_fact,
    places_of,
    systematic_of,
    witness_of,
)
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.run import run_study
from shuffleproof.core.studies.study import Memory, Study
from shuffleproof.core.studies.workbench import Workbench, digests_of
from shuffleproof.core.words import counted

STORED = examination.MEASURES
MEASURES = STORED[:4]
FAMILY = "shuffle-shown"
PERMUTATIONS = 20
BLOCKS = 6
"""Number of blocks of lists after which a certificate can end; the first has 1/63 of the lists."""

DUPLICATES = 3
"""Number of planted copies of documents in every list, for certificates with duplicates."""


def run(workbench: Workbench, question: Invariance) -> Generator[Progress, None, Artefact]:
    """Show every test list in many orders and compare the scores.

    Raises:
        FixedScoresError: scores in a file.
    """
    refuse(question.rankers)
    identified = yield from workbench.identified_all(question.rankers)
    study = plan_certificate(
        digests_of(identified), question.permutations, question.seed, workbench.lists_digest
    )
    study = replace(study, initial=workbench.recipe.initial)
    return (yield from workbench.perturb(study, identified, measure_variants, _facts))


def _facts(rankers: Mapping[str, Ranker]) -> dict[str, Any]:
    """Facts of the study: theorems of the rankers, and the names of systematic orders."""
    return _theorems(rankers) | {"orders": list(NAMES)}


def _theorems(rankers: Mapping[str, Ranker]) -> dict[str, Any]:
    proofs = {label: theorem_of(ranker) for label, ranker in rankers.items()}
    return {"theorems": {label: theorem.plain() for label, theorem in proofs.items() if theorem}}


def measure_variants(
    ranker: Ranker, base: JudgedLists, variants: Sequence[JudgedLists]
) -> tuple[list[Any], dict[str, Any]]:
    """Step of the study: per query, the effect of each permutation on the scores and ranks."""
    examined = examination.examine(ranker, base, [variant.lists for variant in variants])
    return [value.astype(np.float32) for value in examined.values], examined.facts


def certify(  # noqa: PLR0913 (who is examined, on what, and how often)
    ranker: Ranker,
    base: JudgedLists,
    permutations: int,
    seed: int,
    label: str = "",
    *,
    more: Mapping[str, JudgedLists] | None = None,
    blocks: int = 1,
) -> Generator[Progress, None, Certificate]:
    """Certificate of one ranker on these lists, without a store (a callable, an external model).

    Args:
        ranker: anything that scores.
        base: the lists in their own order.
        permutations: number of random input orders per list.
        seed: of the permutations.
        label: name of the ranker in the certificate; by default its own name.
        more: additional lists to examine, by the suffix of their query names.
        blocks: number of blocks of lists, examined in turn. If the examination is ended early
            (`within`), the certificate covers the finished blocks.

    Raises:
        FixedScoresError: the ranker only looks up scores.
    """
    label = label or ranker.name
    refuse([label, ranker.name])
    study = plan_certificate(((label, ""),), permutations, seed)
    results, lengths = [], [np.zeros(0, dtype=np.int64)]
    unseen: tuple[str, ...] = ()
    unexamined = 0
    examined = [
        (ending, part)
        for ending, lists in {"": base, **(more or {})}.items()
        for part in _blocks(lists, blocks)
    ]
    try:
        for at, (ending, lists) in enumerate(examined):
            yield Progress(at, len(examined), "blocks of lists")
            block_study = replace(study, seed=seed + at)  # the same orders again would add nothing
            result = yield from run_study(
                block_study, lists, {label: ranker}, Memory(), measure_variants
            )
            names = tuple(f"{name}{ending}" for name in result.query_ids)
            results.append(replace(result, query_ids=names))
            lengths.append(lists.lists.lengths)
    except TimeLimitReached as limit:
        if not results:
            raise
        unexamined = sum(len(lists.lists) for _, lists in examined[len(results) :])
        unseen = (f"{counted(unexamined, 'list')}, because {limit.seconds:g} s had passed",)
    sampled = sum(len(lists.lists) for ending, lists in examined[: len(results)] if not ending)
    facts = {"reads": {label: ranker.reads}, "sampled": sampled} | _theorems({label: ranker})
    joined = replace(_joined_result(results), facts=facts)
    all_lengths = np.concatenate(lengths)
    joined.trials["middle_length"] = float(np.median(all_lengths)) if len(all_lengths) else 0.0
    card = certificates(joined)[0]
    return replace(card, unseen=(*unseen, *card.unseen), unexamined=unexamined)


def _blocks(lists: JudgedLists, number: int) -> list[JudgedLists]:
    """Lists in `number` blocks, each twice as long as the last; fewer if there are few lists."""
    if number == 1:
        return [lists]
    # Sizes 1, 2, 4, …: a small first block gives an early certificate
    shares = (2.0 ** np.arange(1, number + 1) - 1) / (2**number - 1)
    bounds = np.unique(np.ceil(len(lists.lists) * shares).astype(np.int64))
    return [
        JudgedLists(lists.dataset, lists.lists.select(np.arange(low, high)))
        for low, high in pairwise([0, *bounds.tolist()])
    ]


@dataclass(frozen=True)
class CertificatePlan(Study):
    """Plan of a certificate."""

    @property
    def orders_per_list(self) -> int:
        """Number of orders of one list that a user's function scores."""
        return examination.orders_scored(self.draws)


def plan_certificate(
    rankers: tuple[tuple[str, str], ...], permutations: int, seed: int, lists: str = ""
) -> CertificatePlan:
    """Plan of a certificate."""
    return CertificatePlan(
        kind=Invariance.kind, rankers=rankers, lists=lists, initial=(),
        perturbations=((FAMILY, 1.0),), measures=MEASURES, stored=STORED,
        draws=permutations, seed=seed,
    )  # fmt: skip


def _joined_result(results: Sequence[StudyResult]) -> StudyResult:
    """Merge examinations of one ranker: all lists in turn, facts added up."""
    first = results[0]
    trials = first.trials.copy()
    summed = (
        "unstable", "company", "padding", "state", "singles", "tied_documents", "equal_documents",
        "own_rounding", "lists_scored", "fresh_processes", "place_rises", "place_falls",
        "loss_lists", "loss_before", "loss_squares",
    )  # fmt: skip
    for name in summed:
        trials[name] = sum(largest_fact(result.trials, name, np.nan) for result in results)
    trials["loss_sum"] = sum(float(result.trials["loss_sum"].iloc[0]) for result in results)
    for name in (
        "numeric_floor", "largest_score", "longest", "noise_more", "noise_lists", "half_steps",
        "training_mode", "no_memory",
    ):  # fmt: skip
        trials[name] = max(result.trials[name].max() for result in results)
    again = [largest_fact(result.trials, "repeat_change") for result in results]
    trials["repeat_change"] = max(again)
    places = [places for result in results if (places := places_of(result.trials)) is not None]
    joined_places = audit.join_places(places) if places else None
    trials["places"] = pd.Series([joined_places] * len(trials), dtype=object)
    systematic = examination.join_facts(
        [(systematic_of(result.trials), len(result.query_ids)) for result in results]
    )
    trials["systematic"] = pd.Series([systematic] * len(trials), dtype=object)
    witnesses = [witness for result in results if (witness := witness_of(result.trials))]
    worst = max(witnesses, key=itemgetter("moved"), default=None)
    trials["witness"] = pd.Series([worst] * len(trials), dtype=object)
    p_values = pd.Series([result.trials["noise_p"].astype(float).min() for result in results])
    trials["noise_p"] = np.minimum(1.0, p_values.min() * p_values.notna().sum())  # Bonferroni
    return StudyResult(
        recipe=first.recipe,
        trials=trials,
        values=np.concatenate([result.values for result in results], axis=2),
        query_ids=tuple(name for result in results for name in result.query_ids),
        facts=first.facts,
    )


def certificate_of(  # noqa: PLR0913 (the flags of the command `certify`)
    workbench: Workbench,
    ranker: str,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    *,
    queries: int | None = None,
    lists: Collection[str] = (),
    in_blocks: bool = False,
) -> Generator[Progress, None, Certificate]:
    """Certificate of one ranker, from a stored study if it only uses the test lists.

    User code is examined each time: a fresh process may see other files today.

    Args:
        workbench: source of the test lists.
        ranker: its name.
        permutations: number per query.
        seed: of the permutations.
        queries: number of test queries, from the first; None: all.
        lists: additional lists: `whole` lists of all documents, planted `duplicates`.
        in_blocks: True to allow an early end; nothing is stored then.

    Raises:
        FixedScoresError: scores in a file.
    """
    named = RankerName.parse(ranker)
    of_user = named.kind in {Kind.FUNCTION, Kind.OBJECT, Kind.ENDPOINT}
    if is_stored := queries is None and not lists and not of_user and not in_blocks:
        stored = yield from run(workbench, Invariance((ranker,), permutations, seed))
        card = certificates(StudyResult.open(stored.path))[0]
        if named.head not in FILES:
            return card
    examined = (yield from workbench.identified(named)).ranker
    base = workbench.test_lists(queries)
    if not is_stored:
        additional = yield from _additional_lists(workbench, queries, lists, seed)
        blocks = BLOCKS if in_blocks else 1
        card = yield from certify(
            examined, base, permutations, seed, ranker, more=additional, blocks=blocks
        )
    notes = [f"it {note}" for note in getattr(examined, "fault_notes", ())]
    if isinstance(examined, OutsideModel):
        notes.append(examined.column_rule(base))
    return replace(card, notes=(*card.notes, *notes))


def _additional_lists(
    workbench: Workbench, queries: int | None, lists: Collection[str], seed: int
) -> Generator[Progress, None, dict[str, JudgedLists]]:
    """Additional lists to examine, by the suffix of their query names."""
    additional, base = {}, workbench.test_lists(queries)
    if "whole" in lists:
        recipe = replace(workbench.recipe, depth=None)
        unlimited = yield from Workbench.open(
            workbench.name, recipe, workbench.store, workbench.preset
        )
        whole_lists = unlimited.test_lists(queries)
        longer = np.flatnonzero(whole_lists.lists.lengths > base.lists.lengths)
        additional[" (all documents)"] = JudgedLists(
            whole_lists.dataset, whole_lists.lists.select(longer)
        )
    if "duplicates" in lists:
        planted = perturbation("duplicates", DUPLICATES)
        additional[" (with duplicates)"] = perturb(planted, base, generator(seed))
    return additional

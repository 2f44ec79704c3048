"""What ships with the program: a small study of every kind on the sample set.

One table says what each kind is asked. What lies in the folder already and is still asked for stays
as it is, byte for byte; what is missing is made. Without the folder `artefacts` everything is.
"""

import argparse
import shutil
import time
from collections.abc import Mapping

from shuffleproof.core.cli.answer import Answer, warn
from shuffleproof.core.cli.open import done
from shuffleproof.core.library.entries import dependencies
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.studies.kinds.ablation.question import Ablation
from shuffleproof.core.studies.kinds.attention.question import Attention
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.group_shuffles.question import GroupShuffles
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.kinds.multi_ranking.question import MultiRanking
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.ranking_degradation.question import RankingDegradation
from shuffleproof.core.studies.kinds.set_size.question import SetSize
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.studies.question import Question, Scope

RANKERS = (
    *("lambdamart", "dlcm", "setrank-imsab", "setrank-imsab-init"),
    *("dlcm-without-init", "setrank-msab", "setrank-msab-init"),
)
"""Of Figure 3 and the certificates."""

CONTRAST = ("lambdamart", "dlcm", "setrank-imsab-init")
"""Document by document, in the order shown, and as a set that knows the initial ranking."""

EXCHANGES = tuple(("transpositions", float(level)) for level in (0, 1, 2, 5, 10, 20, 40, 80))

DISTURBED = {
    "transpositions": (0, 5, 20),
    "score-noise": (0, 0.5, 2),
    "tie-storm": (0, 0.4, 0.8),
    "shuffle-shown": (1,),
    "reverse-shown": (1,),
    "cut": (0, 0.2, 0.6),
    "remove-top": (0, 1, 5),
    "distractors": (0, 5, 20),
    "near-duplicates": (0, 5, 20),
    "feature-noise": (0, 0.25, 1),
    "missing-mean": (0, 0.2, 0.6),
    "label-flips": (0, 0.4),
    "bfloat16": (0, 1),
    "cut:0.2+shuffle-shown": (0, 1),
}
"""Families of every kind, and a chain, each at two or three levels."""

ASKED: Mapping[str, Question] = {
    one.kind: one
    for one in (
        RankingDegradation(RANKERS, EXCHANGES),
        Invariance(RANKERS),
        Benchmark(
            (
                *("feature:3", "ranksvm", "ranknet", "mart", "lambdamart"),
                *("dlcm", "setrank-msab", "setrank-msab-init"),
            ),
            seeds=2,
        ),
        Ablation("dlcm", "small", ("released", "claims"), draws=2),
        SetSize(trained_on=(10, 20, 40), sizes=(10, 20, 40)),
        MultiRanking(),
        Attention(("setrank-msab", "setrank-msab-init", "setrank-imsab-init", "dlcm"), 150),
        Perturbations(
            CONTRAST,
            tuple((family, float(level)) for family, found in DISTURBED.items() for level in found),
            draws=2,
        ),
        WorstCase(("dlcm", "setrank-imsab-init", "setrank-imsab"), budgets=(1, 2, 5), queries=50),
        GroupShuffles(orders=4, queries=50),
        Card(
            (*CONTRAST, "dlcm-without-init", "setrank-imsab"), ("transpositions", "shuffle-shown")
        ),
    )
}
"""What every kind of study is asked of the sample."""


def sample(arguments: argparse.Namespace) -> Answer:
    """`sample`: answer what is asked of the sample; studies and their rankers ship with it."""
    folder = arguments.folder
    store = Store(folder / "building", (folder,))
    studies = set()
    for kind, question in ASKED.items():
        start = time.perf_counter()
        studies.add(done(kind, question.study(Scope(store))).key)
        warn(f"{kind}: {time.perf_counter() - start:.0f} s")
    needed = _needed(store, studies)
    rows = []
    for artefact in list(store.artefacts()):
        shipped = folder / "artefacts" / str(artefact.key)
        if artefact.key not in needed:
            shutil.rmtree(shipped, ignore_errors=True)
            continue
        if not shipped.is_dir():
            shutil.copytree(artefact.path, shipped)
        rows.append({"key": str(artefact.key), "bytes": artefact.size})
    shutil.rmtree(store.root)
    return Answer(rows)


def _needed(store: Store, studies: set[ArtefactKey]) -> set[ArtefactKey]:
    """The studies and all that they were made from, without the data, which ships as text."""
    made_from, found, new = dependencies(store), set(studies), set(studies)
    while new:
        new = {key for one in new for key in made_from[one] if key.kind != "data"} - found
        found |= new
    return found

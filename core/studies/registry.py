"""The studies by name: what each is asked, and the figure or table that it answers."""

from collections.abc import Mapping

from core.studies.kinds.ablation.question import Ablation
from core.studies.kinds.attention.question import Attention
from core.studies.kinds.benchmark.question import Benchmark
from core.studies.kinds.card.question import Card
from core.studies.kinds.group_shuffles.question import GroupShuffles
from core.studies.kinds.invariance.question import Invariance
from core.studies.kinds.multi_ranking.question import MultiRanking
from core.studies.kinds.perturbations.question import Perturbations
from core.studies.kinds.ranking_degradation.question import RankingDegradation
from core.studies.kinds.set_size.question import SetSize
from core.studies.kinds.worst_case.question import WorstCase
from core.studies.question import Question

STUDIES: Mapping[str, type[Question]] = {
    one.kind: one
    for one in (
        Invariance,
        RankingDegradation,
        Benchmark,
        Ablation,
        SetSize,
        MultiRanking,
        Attention,
        Perturbations,
        WorstCase,
        GroupShuffles,
        Card,
    )
}

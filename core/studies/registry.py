"""Registry of studies by name, with the question of each."""

from collections.abc import Mapping, Sequence
from typing import Any

from shuffleproof.core.errors import UsageError
from shuffleproof.core.studies.kinds.ablation.question import Ablation
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.certified_top_k.question import CertifiedTopK
from shuffleproof.core.studies.kinds.group_shuffles.question import GroupShuffles
from shuffleproof.core.studies.kinds.initial_ranking.question import InitialRanking
from shuffleproof.core.studies.kinds.initial_rankings.question import InitialRankings
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.preferences.question import PreferenceAggregation
from shuffleproof.core.studies.kinds.rerankers.question import Rerankers
from shuffleproof.core.studies.kinds.retrieval.question import (
    CollectionQuestion,
    Growth,
    QueryNoise,
    Retrieval,
    Sparsity,
)
from shuffleproof.core.studies.kinds.set_size.question import SetSize
from shuffleproof.core.studies.kinds.training_noise.question import TrainingNoise
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.studies.listless.question import ListlessQuestion
from shuffleproof.core.studies.question import Question

STUDIES: Mapping[str, type[Question]] = {
    question.kind: question
    for question in (
        Invariance,
        InitialRanking,
        Benchmark,
        Ablation,
        SetSize,
        InitialRankings,
        Perturbations,
        WorstCase,
        GroupShuffles,
        TrainingNoise,
        CertifiedTopK,
        Card,
        Rerankers,
    )
}
"""Studies of rankers, on a data set's candidate lists."""

COLLECTION_STUDIES: Mapping[str, type[CollectionQuestion]] = {
    question.kind: question for question in (Retrieval, QueryNoise, Sparsity, Growth)
}
"""Studies of retrievers, on a text collection; all but the first are `study retrieval --vary …`."""

PREFERENCE_STUDIES: Mapping[str, type[ListlessQuestion]] = {
    question.kind: question for question in (PreferenceAggregation,)
}
"""Studies of aggregators, on preferences between pairs."""

LISTLESS: Mapping[str, type[ListlessQuestion]] = {**COLLECTION_STUDIES, **PREFERENCE_STUDIES}
"""Studies of data without candidate lists."""

EVERY: Mapping[str, type[Question]] = {**STUDIES, **LISTLESS}


def study_kind(recipe: Mapping[str, Any]) -> type[Question]:
    """Kind of a stored study.

    Raises:
        UsageError: this version has no such kind.
    """
    kind = str(recipe["kind"])
    if kind not in EVERY:
        raise UsageError(
            f"this version has no study {kind}: use the version that made "
            "the result, or remove it from the library"
        )
    return EVERY[kind]


def page_of(kind: str) -> str:
    """Path of the page for studies of a kind.

    >>> page_of("query-noise"), page_of("card")
    ('retrieval', 'card')
    """
    return (EVERY[kind].page if kind in EVERY else "") or kind


OLD_NAMES = {"ranking-degradation": "initial-ranking", "multi-ranking": "initial-rankings"}
"""Kinds by the names that they had before 1.0."""


def kind_of(word: str) -> str:
    """Kind that a word means: also with underscores, or by its old name.

    >>> kind_of("ranking-degradation"), kind_of("set_size"), kind_of("crad")
    ('initial-ranking', 'set-size', 'crad')
    """
    name = word.replace("_", "-")
    resolved = OLD_NAMES.get(name, name)
    return resolved if resolved in EVERY else word


def with_kind(words: Sequence[str]) -> list[str]:
    """Words after `study`, starting with the kind that they mean.

    >>> with_kind(["retrieval", "--json", "--vary", "queries"]), with_kind(["set_size"])
    (['query-noise', '--json'], ['set-size'])
    """
    said = [*map(kind_of, words[:1])]
    for word in words[1:]:
        said += word.split("=", 1) if word.startswith("--vary=") else [word]
    if said[:1] == [Retrieval.kind] and "--vary" in said:
        at = said.index("--vary")
        for kind, question in COLLECTION_STUDIES.items():
            if said[at + 1 : at + 2] == [question.vary]:
                return [kind, *said[1:at], *said[at + 2 :]]
    return said

"""`--dry-run`: what `train` and every `study` would make, and how long that takes here."""

import argparse
from dataclasses import replace

from shuffleproof.core.cli.answer import Answer
from shuffleproof.core.cli.open import (
    asked_question,
    changes_of,
    one_fold,
    recipe_of,
    scope_of,
    trains_retriever,
    use_device,
)
from shuffleproof.core.cli.studies import listless_question
from shuffleproof.core.studies.rehearsal import DryRun, rehearse, rehearsed_training


def study(arguments: argparse.Namespace) -> Answer:
    """`study KIND --dry-run`: lists, trainings and trials, stored or to be made."""
    question, scope = asked_question(arguments)
    return _told(rehearse(question, scope))


def listless_study(arguments: argparse.Namespace) -> Answer:
    """`study KIND --dry-run` of a text collection or of preferences: what is trained for it."""
    from shuffleproof.core.studies.listless.rehearsal import rehearsed_listless  # noqa: PLC0415 (loads numba)

    return _told(rehearsed_listless(*listless_question(arguments)))


def train(arguments: argparse.Namespace) -> Answer:
    """`train --dry-run`: the ranker, and the lists that it learns from."""
    use_device(arguments)
    if trains_retriever(arguments):
        from shuffleproof.core.cli.retrieval import rehearsed_retriever  # noqa: PLC0415 (loads numba)

        return _told(rehearsed_retriever(arguments, changes_of(arguments)))
    recipe_of(arguments)  # which refuses names that nothing has
    scope = scope_of(arguments)
    scope = replace(scope, data=one_fold(scope.data, scope.store))
    return _told(rehearsed_training(scope, arguments.ranker, changes_of(arguments)))


def _told(dry: DryRun) -> Answer:
    return Answer(dry.plain(), dry.text())

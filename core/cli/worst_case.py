"""`study worst-case` on the terminal, with what each single exchange costs."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shuffleproof.core.cli.answer import Answer
from shuffleproof.core.cli.open import answer_question, asked_question, rankers_in, run_shown
from shuffleproof.core.cli.studies import print_study
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.initial import InitialRanking
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.studies.kinds.worst_case import study as worst_case_study
from shuffleproof.core.studies.workbench import Workbench
from shuffleproof.core.words import number

DEAREST = 10
"""Exchanges of a map that are printed; JSON has all."""


def study(arguments: argparse.Namespace) -> Answer:
    """`study worst-case`: random mean against worst found, a row for every ranker and budget."""
    question, scope = asked_question(arguments)
    if arguments.map is None:
        return print_study(answer_question(question, scope, arguments), arguments)
    worst_case_study.check_query(run_shown("lists", scope.open_workbench()), arguments.map)
    artefact = answer_question(question, scope, arguments)
    workbench = run_shown("lists", scope.open_workbench())
    maps = _maps(workbench, rankers_in(question), arguments.map, artefact.recipe)
    lines = [line for ranker, costs in maps.items() for line in _dearest(ranker, costs)]
    return print_study(
        artefact, arguments, {"maps": {name: own.tolist() for name, own in maps.items()}}, lines
    )


def _maps(
    workbench: Workbench, names: Sequence[str], query: str, recipe: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """What every single exchange of two places costs each ranker in one query."""
    rankers: dict[str, Ranker] = {INITIAL: InitialRanking()}
    rankers |= {name: run_shown(name, workbench.identified(name)).ranker for name in names}
    how = (query, recipe["target"], recipe["measure"])
    return {
        label: worst_case_study.swap_map(workbench, ranker, *how)
        for label, ranker in rankers.items()
    }


def _dearest(ranker: str, costs: np.ndarray) -> list[str]:
    """The dearest exchanges of one ranker's map, as lines."""
    places = np.stack(np.triu_indices(len(costs), 1), axis=1)
    each = costs[places[:, 0], places[:, 1]]
    order = np.argsort(-each, kind="stable")[:DEAREST]
    known = [at for at in order.tolist() if each[at] > 0]
    if not known:
        return [f"{ranker}: no single exchange costs anything", ""]
    share = f"{100 * float((each > 0).mean()):.0f} % of {len(each)} exchanges cost something"
    rows = [f"  {places[at, 0] + 1} ↔ {places[at, 1] + 1}: {number(each[at])}" for at in known]
    return [f"{ranker}: {share}; the dearest, by places", *rows, ""]

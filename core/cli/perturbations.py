"""`study perturbations` and `study worst-case` on the terminal."""

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.cli.answer import Answer, records
from shuffleproof.core.cli.figures import fixed, printed, short
from shuffleproof.core.cli.flags_measures import DIGITS
from shuffleproof.core.cli.open import asked, done, rankers_in
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.studies.kinds.perturbations import notes, study
from shuffleproof.core.studies.kinds.perturbations import table as perturbations_table
from shuffleproof.core.studies.kinds.perturbations.answer_changes import OWN
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL, InitialRanking
from shuffleproof.core.studies.kinds.worst_case import plan as worst_case_plan
from shuffleproof.core.studies.kinds.worst_case import study as search
from shuffleproof.core.studies.kinds.worst_case import table as worst_case_table
from shuffleproof.core.studies.result import StudyResult, stored_summary
from shuffleproof.core.studies.workbench import Workbench

DEAREST = 10
"""Exchanges of a map that are printed; JSON has all."""


def perturbations(arguments: argparse.Namespace) -> Answer:
    """`study perturbations`: rankers × families × levels, with what became of each answer."""
    question, scope = asked(study.KIND, arguments)
    artefact = done("perturbations", question.study(scope))
    summary = stored_summary(artefact.path)
    parts = []
    for (family, measure), group in summary.groupby(["family", "measure"], sort=False):
        entry = entry_of(str(family))
        if measure not in (OWN[:1] if entry.of_input else (OWN[0], OWN[-1])) and measure in OWN:
            continue
        wide = group.pivot_table("mean", "ranker", "level", sort=False, dropna=False)
        if entry.of_input:
            wide.loc["Kendall τ left"] = group.groupby("level")["tau"].mean()
        parts += [f"{measure} under {family} ({entry.unit})"]
        usual = arguments.digits == DIGITS
        shown = wide.map(short if usual else partial(fixed, digits=arguments.digits))
        parts += [shown.to_string(), ""]
    result, first = StudyResult.open(artefact.path), artefact.recipe["measures"][0]
    losses = perturbations_table.losses(result, first)
    reached, told = _transfer(losses, first)
    said = notes.left_out(
        artefact.facts, {family for family, _ in artefact.recipe["perturbations"]}
    )
    beyond = notes.short_of(
        artefact.facts, {family for family, _ in artefact.recipe["perturbations"]}
    )
    finding = perturbations_table.finding(losses, first, list(losses["ranker"].unique()), "last")
    parts += [*told, *filter(None, [said, beyond]), finding, ""]
    answer: dict[str, Any] = {"result": str(artefact.key), "summary": records(summary)}
    answer |= {"transfer": reached, "left_out": artefact.facts.get("left_out", {})}
    answer["lists_that_reach"] = artefact.facts.get("reached", {})
    answer["finding"] = finding
    answer["said"] = list(filter(None, [said, beyond]))
    answer["convention"] = _counted(first, len(result.query_ids))
    head = [answer["convention"], ""]
    return Answer(answer, "\n".join([*head, *parts, f"stored as {artefact.key}"]))


def _counted(measure: str, queries: int) -> str:
    """A measure with its convention and the number of queries."""
    of = "query" if queries == 1 else "queries"
    return f"{Measure.parse(measure).convention()} · N = {queries:,} {of}"


def _transfer(losses: pd.DataFrame, measure: str) -> tuple[dict[str, dict[str, float]], list[str]]:
    """What attacks cost every ranker, as values and as lines; empty without attacks."""
    wide = notes.transfer(losses)
    if wide.empty:
        return {}, []
    head = f"{measure} lost at the last level: a row a network attacked, a column a ranker hit"
    lines = [head, printed(wide).to_string(), notes.transferred(wide, measure), ""]
    values = {
        str(row): {str(ranker): float(loss) for ranker, loss in own.items()}
        for row, own in wide.to_dict("index").items()
    }
    return values, lines


def worst_case(arguments: argparse.Namespace) -> Answer:
    """`study worst-case`: random mean against worst found, a row for every ranker and budget."""
    question, scope = asked(worst_case_plan.KIND, arguments)
    if arguments.map is not None:
        search.check_query(done("lists", scope.opened()), arguments.map)
    artefact = done("worst case", question.study(scope))
    result = StudyResult.open(artefact.path)
    measure, of = result.measures[0], result.recipe
    frame = worst_case_table.table(result)
    answer = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "table": records(frame),
        "certificates": result.facts["certificates"],
        "convention": Measure.parse(measure).convention(),
    }
    head = _counted(measure, result.facts["queries"])
    said = f"{head} · {of['search']['unit']} of the {of['target']}"
    lines = [said, printed(frame, arguments.digits).to_string(index=False), ""]
    if arguments.map is not None:
        maps = _maps(done("lists", scope.opened()), rankers_in(question), arguments.map, of)
        answer["maps"] = {ranker: costs.tolist() for ranker, costs in maps.items()}
        lines += [line for ranker, costs in maps.items() for line in _dearest(ranker, costs)]
    return Answer(answer, "\n".join([*lines, f"stored as {artefact.key}"]))


def _maps(
    bench: Workbench, names: Sequence[str], query: str, recipe: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """What every single exchange of two places costs each ranker in one query."""
    rankers: dict[str, Ranker] = {INITIAL: InitialRanking()}
    rankers |= {name: done(name, bench.identified(name)).ranker for name in names}
    how = (query, recipe["target"], recipe["measure"])
    return {label: search.swap_map(bench, ranker, *how) for label, ranker in rankers.items()}


def _dearest(ranker: str, costs: np.ndarray) -> list[str]:
    """The dearest exchanges of one ranker's map, as lines."""
    places = np.stack(np.triu_indices(len(costs), 1), axis=1)
    each = costs[places[:, 0], places[:, 1]]
    order = np.argsort(-each, kind="stable")[:DEAREST]
    known = [at for at in order.tolist() if each[at] > 0]
    if not known:
        return [f"{ranker}: no single exchange costs anything", ""]
    share = f"{100 * float((each > 0).mean()):.0f} % of {len(each)} exchanges cost something"
    rows = [f"  {places[at, 0] + 1} ↔ {places[at, 1] + 1}: {fixed(each[at])}" for at in known]
    return [f"{ranker}: {share}; the dearest, by places", *rows, ""]

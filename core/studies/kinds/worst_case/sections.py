"""Sections of the worst-case search: mean of random orders against the worst order found."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.significance import bootstrap_interval
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.headline import headline as of_losses
from shuffleproof.core.studies.headline import losses
from shuffleproof.core.studies.kinds.worst_case.study import RANDOM
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Convention, Headline, Picture, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.words import counted


def headline(result: StudyResult, view: View) -> Headline:
    """Largest and smallest loss of the rankers, in the worst orders of the largest budget."""
    recipe, measure = result.recipe, str(result.recipe["measure"])
    budget, method = max(recipe["budgets"]), recipe["search"]["method"]
    how = f"in the worst order found with {steps(budget, recipe['search']['unit'])}"
    searched = result.rankers_at(method, budget)
    values = {
        (label, how): (
            result.per_query(label, method, 0.0, measure),
            result.per_query(label, method, float(budget), measure),
        )
        for label in view.compared_labels(searched)
    }
    return of_losses(losses(values))


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    frame, measure = table(result), str(result.measures[0])
    recipe = result.recipe
    unit = str(recipe["search"]["unit"])
    yield Picture("worst case", (frame, measure, unit))
    yield Convention.of(
        measure,
        result.facts["queries"],
        f"{counted(recipe['draws'], 'random order')} per budget",
        f"{unit} of the {recipe['target']}",
    )
    yield shown_table(frame, unit)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    return {
        "table": records(table(result)),
        "certificates": result.facts["certificates"],
        "convention": Measure.parse(result.measures[0]).convention(),
    }


def columns(unit: str = "") -> tuple[tables.Column, ...]:
    """Columns of `table`; the unit is that of the budgets."""
    return (
        tables.RANKER,
        tables.Column("budget", f"Budget ({unit})", tables.COUNT),
        tables.Column("as_is", "Unchanged", tables.VALUE, "Mean on the unchanged lists."),
        tables.Column("random", "Random", tables.VALUE, "Mean of random orders of the budget."),
        tables.Column("worst", "Worst found", tables.VALUE, "Mean at the worst order found."),
        tables.Column("random_damage", "lost at random", tables.CHANGE),
        tables.Column("worst_damage", "lost at worst", tables.CHANGE),
        *tables.bounds(spec=tables.CHANGE),
        tables.Column(
            "certified", "Certified 0", tables.FLAG,
            "It does not read the changed input (checked).",
        ),
    )  # fmt: skip


def shown_table(frame: pd.DataFrame, unit: str) -> tables.Table:
    """`table` for display; the unit is that of the budgets."""
    title = "Means: unchanged, random orders, worst order found"
    return tables.Table(frame, columns(unit), title)


def table(result: StudyResult) -> pd.DataFrame:
    """Random orders and the worst one found: `columns`, one row per ranker and budget.

    Damages are losses from the unperturbed lists; `certified`: proven to be 0 without a search. The
    worst order is NaN while the search of a ranker runs.
    """
    recipe, proofs = result.recipe, result.facts["certificates"]
    method, measure = recipe["search"]["method"], recipe["measure"]
    summary = result.summary([measure]).set_index(["ranker", "family", "level"])
    means: dict[Any, float] = summary["mean"].to_dict()
    rows = []
    for (ranker, _), budget in product(recipe["rankers"], map(float, recipe["budgets"])):
        if (ranker, RANDOM, budget) not in means:
            continue
        points = [(RANDOM, 0.0), (RANDOM, budget), (method, budget)]
        as_is, random, worst = (float(means.get((ranker, *point), np.nan)) for point in points)
        damage = np.zeros(0)
        if (ranker, method, budget) in means:
            before, after = (
                result.per_query(ranker, method, level, measure) for level in (0.0, budget)
            )
            damage = before - after
        lost = as_is - random, as_is - worst
        interval = bootstrap_interval(damage, generator(0, "worst-case"))
        certified = bool(proofs.get(ranker, {}).get("proven"))
        rows.append((ranker, int(budget), as_is, random, worst, *lost, *interval, certified))
    return pd.DataFrame(rows, columns=tables.keys(columns()))


def steps(budget: int, unit: str) -> str:
    """Budget in words.

    >>> steps(1, "inversions"), steps(10, "exchanges")
    ('1 inverted pair', '10 swaps')
    """
    return counted(budget, "inverted pair" if unit == "inversions" else "swap")

"""Form and cost of a benchmark, its first rows, and Table 2 as pages show it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import benchmarks, services
from shuffleproof.app.plain import escaped
from shuffleproof.app.study.form import Form, to_train
from shuffleproof.core.data.layout import folds_of
from shuffleproof.core.experiment.ranker_sets import NAMED
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.name import display_names, with_display_names
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies.engine import RunningStudy
from shuffleproof.core.studies.kinds.benchmark import rows as benchmark_rows
from shuffleproof.core.studies.kinds.benchmark import sections
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS
from shuffleproof.core.studies.kinds.benchmark.sections import heads
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.tables import Cell

SETS = tuple(name for name, members in NAMED.items() if set(members) <= set(registry.RANKERS))
PRESET_WORDS = {
    "table2": "the paper's Table 2",
    "pairwise": "the pairwise rankers",
    "all": "every ranker",
}


def names(data: str) -> tuple[str, ...]:
    """Names of data under which a benchmark of this data set can run: itself, or its folds."""
    return tuple(dict.fromkeys((data, benchmarks.stem(data))))


def partial_picture(study: RunningStudy) -> None:
    """Draw the finished rows."""
    cells = benchmark.Plan.of(study.recipe).cells()
    records = services.store().records
    done = sum(cell.digest in records for cell in cells)
    if not done:
        return
    table = _so_far(key_of("study", study.recipe).digest, done, study)
    if table is not None:
        st.table(table)
    st.caption(f"First complete rows: {done} of {len(cells)} trainings and scorings are stored.")


@st.cache_data(max_entries=16, show_spinner=False)
def _so_far(digest: str, done: int, _study: RunningStudy) -> pd.DataFrame | None:
    """Table of the finished rows, cached until another one is finished."""
    del digest, done  # the cache's key
    result = _study.result(services.store())
    if result is None:
        return None
    labels = benchmark_table.rankers_of(result)
    cells = sections.cells(result, View(result.measures, baselines=()))
    return printed_table(cells, labels, result.facts, result.measures)


def rankers(declared: Parameter, now: tuple[str, ...]) -> tuple[str, ...]:
    """Draw the choice of rows: sets and single rankers; combinations are typed."""
    plain = [name for name in registry.RANKERS if name not in {registry.FEATURE, "random", "ideal"}]
    usual = next((name for name in SETS if NAMED[name] == now), None)
    before = [usual] if usual else list(now)
    options = list(dict.fromkeys([*before, *SETS, *plain]))
    chosen = st.multiselect(
        "Rankers", options, default=before, wrap=True, accept_new_options=True, key="new.rankers",
        format_func=lambda name: (
            f"{name}: {PRESET_WORDS[name]}" if name in PRESET_WORDS else with_display_names(name)
        ),
        help=f"{declared.help}. The ideal, the initial ranking and random are always "
        "included. Combine rankers by name: rrf:dlcm+mart, shuffled:dlcm.",
    )  # fmt: skip
    return tuple(chosen)


def over_folds(data: str) -> str:
    """Draw the switch for all folds; return the data set, or the stem of its folds."""
    stem = benchmarks.stem(data)
    folds = folds_of(stem, services.store()) if stem != data else []
    together = len(folds) > 1 and st.toggle(
        f"All {len(folds)} folds of {stem}", value=True, key="new.folds",
        help="Every ranker is trained on each fold; the table is over all their test queries.",
    )  # fmt: skip
    return stem if together else data


FORM = Form(
    benchmarks.KIND,
    rows=(("rankers",), ("seeds", "preset", "measures")),
    from_shown=("rankers", "measures"),
    proposed=to_train,
    trains=True,
    widgets={"rankers": rankers},
    data=over_folds,
    draw_partial=partial_picture,
)


MOST_BASELINES = 3
NO_BREAK = "\u00a0"


def printed_table(
    cells: Mapping[tuple[str, str], Cell],
    labels: Sequence[str],
    facts: Mapping[str, Any],
    measures: Sequence[str],
) -> pd.DataFrame:
    """Table as Streamlit's Markdown, cell by cell; references are grey, names are escaped.

    Args:
        cells: printed cells by (ranker, measure).
        labels: rows, in order.
        facts: of the benchmark: group of each row, number of tuning trials.
        measures: the columns.
    """
    names, rows, called = [], [], display_names(labels)
    groups, tuned = facts["groups"], benchmark_rows.tuned_in_words(facts)
    for group in GROUPS:
        of_group = [label for label in labels if groups[label] == group]
        if of_group:
            names.append(f"*{group}*")
            rows.append([""] * len(measures))
        grey = group == GROUPS[0]
        for label in of_group:
            name = escaped(f"{called[label]} {tuned.get(label, '')}".rstrip())
            names.append(f":gray[{name}]" if grey else name)
            rows.append([_cell(cells[label, measure], grey=grey) for measure in measures])
    columns = heads(measures)  # from the registry, not user text: no escaping
    return pd.DataFrame(rows, columns=columns, index=pd.Index(names, name="Ranker"))


def _cell(cell: Cell, *, grey: bool) -> str:
    mean = f"**{cell.text}**" if cell.best else cell.text
    text = f":gray[{mean}]" if grey else mean
    marks = f" {escaped(cell.marks)}" if cell.marks else ""
    spread = f" :gray[:small[{cell.spread.replace(' ', NO_BREAK)}]]" if cell.spread else ""
    return f"{text}{marks}{spread}"

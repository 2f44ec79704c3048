"""Running a benchmark: its form and cost, its progress and its first rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import benchmarks, proposals, services, training
from shuffleproof.app.forms import drawn
from shuffleproof.app.jobs import duration
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import benchmark_table as printed
from shuffleproof.app.study import combination, fields
from shuffleproof.app.study import job_panel as strip
from shuffleproof.core.data.folds import folds_of
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import parsed
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import cost
from shuffleproof.core.studies.kinds.benchmark import lists as benchmark_lists
from shuffleproof.core.studies.kinds.benchmark import rows as benchmark_rows
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark import text as benchmark_text
from shuffleproof.core.studies.ranker_sets import NAMED, expanded
from shuffleproof.core.studies.running import Underway

SEEDS, MOST_SEEDS = 3, 100
MADE = "new combinations"
SETS = tuple(name for name, own in NAMED.items() if set(own) <= set(registry.RANKERS))
SAID = {
    "table2": "the paper's Table 2",
    "pairwise": "the pairwise rankers",
    "all": "every ranker",
}


def progress(data: str) -> bool:
    """Draw the benchmark that is waiting, running or has just failed; whether there is one."""
    return strip.progress(STRIP, names(data))


def names(data: str) -> tuple[str, ...]:
    """What a benchmark of this data set may be run under."""
    return tuple(dict.fromkeys((data, benchmarks.stem(data))))


def _begun(one: Underway, job: Job) -> bool:
    """Whether an announced benchmark is the one that a job works on."""
    labels = benchmarks.rankers(one.recipe)
    asked = [x for x in expanded(job.parameters["rankers"]) if x not in benchmark.REFERENCES]
    return one.facts["data"] == job.parameters["data"] and labels == asked


def _first(found: Underway) -> None:
    plan = benchmark.Plan.of(found.recipe)
    order = plan.cells()
    records = services.store().records
    done = [cell.digest for cell in order if cell.digest in records]
    if not done:
        return
    table = _so_far(key_of("study", found.recipe).digest, len(done), found)
    if table is not None:
        st.table(table)
    st.caption(
        f"First rows, as far as they are whole: {len(done)} of {len(order)} trainings and "
        "scorings are stored."
    )


@st.cache_data(max_entries=16, show_spinner=False)
def _so_far(digest: str, done: int, _found: Underway) -> pd.DataFrame | None:
    """The table of the rows that are there; remembered until one more is."""
    del digest, done  # the memory's key
    result = _found.result(services.store())
    if result is None:
        return None
    labels = benchmark_table.rankers_of(result)
    cells = benchmark_text.cells(result, result.measures, ())
    return printed.frame(cells, labels, benchmark_rows.groups_of(result.facts), result.measures)


STRIP = strip.Strip(benchmarks.KIND, "benchmark", _begun, _first)


def form(data: str, shown: Artefact | None, *, opened: bool) -> None:
    """Draw the form that starts a benchmark; one that is closed is not drawn."""
    with st.expander(
        "Run a benchmark", expanded=opened, icon=":material/play_arrow:", key="run opened",
        on_change="rerun",
    ) as place:  # fmt: skip
        if place.open:
            _form(data, shown)


@st.fragment
def _form(data: str, shown: Artefact | None) -> None:
    usual_preset, usual_lists = proposals.for_training()
    rankers = _rankers(shown)
    left, middle, right = st.columns([1, 1, 2])
    seeds = left.number_input(
        "Seeds", 1, MOST_SEEDS, SEEDS, key="new.seeds",
        help="How often each ranker is trained; what draws nothing is measured once.",
    )  # fmt: skip
    preset = fields.preset(_trained(rankers), usual_preset, middle)
    measures = fields.measures(";".join(_measures(shown)), right)
    stem = benchmarks.stem(data)
    folds = folds_of(stem, services.store()) if stem != data else [data]
    if len(folds) > 1 and st.toggle(
        f"All {len(folds)} folds of {stem}", value=True, key="new.folds",
        help="Every ranker is trained on each fold; the table is over all their test queries.",
    ):  # fmt: skip
        data = stem
    else:
        folds = [data] if len(folds) > 1 else folds
    lists = _lists(data, usual_lists)
    try:
        parameters = _asked(data, rankers, int(seeds), preset, measures) | _listed(data, lists)
        st.markdown(_cost(parameters, folds, lists))
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/error:")
        return
    if st.button("Run this benchmark", type="primary", key="new.run"):
        strip.hand_in(STRIP, parameters)


def _rankers(shown: Artefact | None) -> list[str]:
    before = benchmarks.rankers(shown.recipe) if shown else []
    usual = next((name for name in SETS if expanded([name]) == before), None)
    first = [usual] if usual else before or [*SETS[:1]] or list(proposals.TELLING)
    plain = [name for name in registry.RANKERS if name not in {registry.FEATURE, "random", "ideal"}]
    place = st.container()
    with st.container(horizontal=True):
        st.button(
            "Take Table 2", icon=":material/table_rows:", key="new.table2", on_click=_table2,
            help="All rows of the paper's table, in the place of those above.",
        )  # fmt: skip
        made = _combined([name for name in plain if name in training.FITTED])
    return place.multiselect(
        "Rankers", list(dict.fromkeys([*first, *made, *SETS, *plain])), default=first, wrap=True,
        accept_new_options=True, key="new.rankers",
        format_func=lambda name: f"{name}: {SAID[name]}" if name in SAID else name,
        help="Sets and single rankers; add @preset (dlcm@tuned), or feature:<id>. The ideal, the "
        "initial ranking and chance always stand beside them.",
    )  # fmt: skip


def _combined(offered: Sequence[str]) -> list[str]:
    """A popover that puts rankers together into one more row; all that were made so."""
    rows: list[str] = st.session_state.setdefault(MADE, [])
    with st.popover("Combine rankers into a row", icon=":material/merge:"):
        made = combination.drawn(offered, "new.combine")
        if made is not None:
            name = str(made)
            st.markdown(escaped(name))
            st.caption(f"{combination.cost(made)}; run at every seed of its members.")
            st.button("Add this row", key="new.combine.add", on_click=_add, args=(name,))
    return rows


def _table2() -> None:
    st.session_state["new.rankers"] = [*SETS[:1]]


def _add(name: str) -> None:
    st.session_state[MADE] = list(dict.fromkeys([*st.session_state[MADE], name]))
    st.session_state["new.rankers"] = list(dict.fromkeys([*st.session_state["new.rankers"], name]))


def _trained(rankers: Sequence[str]) -> list[str]:
    """Those that are trained and have no preset of their own, combinations taken apart."""
    leaves = [leaf for name in expanded(rankers) for leaf in RankerName.of(name).leaves]
    return [str(leaf) for leaf in leaves if str(leaf) in training.FITTED]


def _measures(shown: Artefact | None) -> list[str]:
    return list(shown.recipe["measures"]) if shown else list(benchmark.MEASURES)


def _lists(data: str, usual: ListRecipe) -> ListRecipe:
    with st.popover("Candidate lists", icon=":material/tune:"):
        initial = fields.initial(data, usual)
        changes = drawn(usual, "new.lists")
    return replace(parsed(usual, changes), initial=tuple(initial or usual.initial))


def _asked(
    data: str, rankers: Sequence[str], seeds: int, preset: str, measures: str
) -> dict[str, Any]:
    """The parameters of the job, checked.

    Raises:
        ShuffleproofError: a ranker, preset or measure that there is not.
    """
    texts = [str(Measure.parse(text)) for text in measures.split(";")]
    benchmark.rows_of(rankers, preset, seeds)
    found: dict[str, Any] = {"data": data, "rankers": list(rankers), "seeds": seeds}
    found |= {"measures": texts}
    return found if preset == training.usual_preset(data) else found | {"preset": preset}


def _listed(data: str, lists: ListRecipe) -> dict[str, Any]:
    """What the job has to be told of its lists; the preset must not change them."""
    made = training.lists_asked(data, lists)
    return {"lists": made | {"initial": list(lists.initial)}}


def _cost(parameters: Mapping[str, Any], folds: Sequence[str], lists: ListRecipe) -> str:
    """What the button will cost: trainings that are not stored yet, and their seconds.

    Raises:
        ShuffleproofError: a data set that cannot be read, or an initial ranker that cannot be one.
    """
    preset = parameters.get("preset") or training.usual_preset(parameters["data"])
    rows = [
        benchmark_lists.wider(row, lists.initial, preset)
        for row in benchmark.rows_of(parameters["rankers"], preset, parameters["seeds"])
    ]
    costs, there, made = [], 0, []
    for fold in folds:
        fitting = training.fitting(fold)
        benchmark_lists.check_lengths(rows, _longest(fitting, lists))
        benchmark_lists.check_features(rows, fitting.features)
        widest = max((_read(row, lists) for row in rows), key=lambda own: len(own.initial))
        first = training.preparing(fitting, widest)
        made += [first] if first else []
        plans = {
            plan.key: plan
            for row in rows
            for leaf in RankerName.parse(row.label).leaves
            for plan in _plans(fitting, (lists, _read(row, lists)), leaf, (preset, row.seeds))
        }
        there += sum(plan.there for plan in plans.values())
        costs += [plan.cost for plan in plans.values() if not plan.there]
    fitted = sum(not benchmark.REFERENCES.count(row.label) for row in rows)
    seeds = parameters["seeds"]
    text = f"{_counted(fitted, 'row')} × {'up to ' if seeds > 1 else ''}"
    text += f"{_counted(seeds, 'seed')} × {_counted(len(folds), 'fold')}: "
    text += f"**{_counted(len(costs), 'training')}**"
    text += f" ({there} {'more ' if costs else ''}stored)" if there else ""
    if costs or made:
        low, high = cost.added(costs)
        low, high = low + sum(one.low for one in made), high + sum(one.high for one in made)
        text += f", from **{duration(low)}** to **{duration(high)}** on this machine"
    return f"{text}. What is stored is never repeated."


def _longest(fitting: training.Fitting, lists: ListRecipe) -> int:
    """Candidates of the longest list of a fold."""
    test = services.fold(str(services.data_set(fitting.data).key)).test
    parts = (fitting.train, fitting.valid, np.diff(test.offsets))
    longest = max(int(part.max(initial=0)) for part in parts)
    return min(longest, lists.depth or longest)


def _read(row: benchmark.Row, lists: ListRecipe) -> ListRecipe:
    """The lists that a row is trained and scored on."""
    return replace(lists, initial=tuple(row.ranker.get(benchmark_lists.WIDER, lists.initial)))


def _plans(
    fitting: training.Fitting,
    read: tuple[ListRecipe, ListRecipe],
    leaf: RankerName,
    usual: tuple[str, int],
) -> list[training.Plan]:
    """The trainings of a ranker: once a seed where its seed changes anything.

    Args:
        fitting: the fold.
        read: how the lists of the table are made, and those of its row.
        leaf: a ranker, perhaps with a preset.
        usual: the preset of others, and the seeds.
    """
    name, preset, seeds = leaf.base, leaf.preset or usual[0], usual[1]
    if name not in training.FITTED:
        return []
    spec = registry.spec(name, preset)
    drawn = benchmark_rows.draws(spec.recipe())
    lists = read[spec.rankings > len(read[0].initial)]
    own = {"rankings": str(spec.rankings)} if spec.rankings else {}
    times = seeds if drawn and seeds > 1 else 1
    changes = [own | ({"seed": str(seed)} if times > 1 else {}) for seed in range(times)]
    return [training.planned(fitting, lists, name, preset, change) for change in changes]


def _counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> _counted(1, "fold"), _counted(3, "seed")
    ('1 fold', '3 seeds')
    """
    return f"{number} {noun}{'s' if number != 1 else ''}"

"""Running a study of GSF's shuffles: its form and cost, its progress and its first points."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from shuffleproof.app import groups, proposals, services, training
from shuffleproof.app.figures import gsf as figure
from shuffleproof.app.jobs import duration
from shuffleproof.app.plain import escaped
from shuffleproof.app.proposals import Proposal
from shuffleproof.app.study import job_panel as strip
from shuffleproof.app.study import perturbed_form as shared
from shuffleproof.core.errors import ParameterError, ShuffleproofError, UsageError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.numerals import whole
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.answers.trained import as_they_came
from shuffleproof.core.studies.kinds.group_shuffles import study as group_shuffles
from shuffleproof.core.studies.kinds.group_shuffles import table as group_shuffles_table
from shuffleproof.core.studies.running import Underway

GSF = "gsf"
MOST_ORDERS = 1000


def progress(data: str) -> bool:
    """Draw the study that is waiting, running or has just failed; whether there is one."""
    return strip.progress(STRIP, (data,))


def _begun(one: Underway, job: Job) -> bool:
    """Whether an announced study is the one that a job works on."""
    asked, recipe = job.parameters, one.recipe
    same = all(recipe[name] == asked[name] for name in ("orders", "seed", "queries"))
    return (
        same
        and one.facts["data"] == asked["data"]
        and [label for label, _ in recipe["rankers"]] == list(asked["rankers"])
        and list(recipe["shuffles"]) == sorted(set(asked["shuffles"]))
    )


def _first(found: Underway) -> None:
    result = found.result(services.store())
    if result is None:
        return
    frame = group_shuffles_table.table(result)
    st.plotly_chart(figure.equivariance(frame), key="first points", alt=figure.alt_text(frame))
    st.caption(f"First results: {len(frame)} {'point' if len(frame) == 1 else 'points'}.")


STRIP = strip.Strip(groups.KIND, "study of GSF's shuffles", _begun, _first)


def form(data: str, shown: Artefact | None, *, opened: bool) -> None:
    """Draw the form that starts a study."""
    with st.expander("Ask with more shuffles", expanded=opened, icon=":material/play_arrow:"):
        _form(data, shown)


def proposed(data: str, shown: Artefact | None) -> Proposal:
    """The GSFs of the study shown once more; else the first trained here; else the cheapest."""
    if shown is not None:
        return proposals.for_study(data, shown)
    own = as_they_came(ranker for ranker in proposals.trained(data) if ranker.name == GSF)
    lists = proposals.for_study(data).lists
    if not own:
        return Proposal((proposals.cheapest(GSF),), lists)
    return Proposal((proposals.as_asked(own[0], data),), own[0].lists or lists)


@st.fragment
def _form(data: str, shown: Artefact | None) -> None:
    usual = proposed(data, shown)
    presets = [f"{GSF}@{preset}" for preset in training.presets([GSF])]
    names = st.multiselect(
        "Rankers", list(dict.fromkeys([*usual.rankers, *presets])), default=list(usual.rankers),
        accept_new_options=True, wrap=True, key="new.rankers",
        help="GSFs of groups of two documents or more: gsf@preset, or gsf#digits of a key.",
    )  # fmt: skip
    left, middle, right = st.columns([3, 1, 1])
    before = shown.recipe["shuffles"] if shown else group_shuffles.SHUFFLES
    text = left.text_input(
        "Shuffles S", value=", ".join(map(str, before)), key="new.shuffles",
        help="How many shuffles groups come from, comma-separated; groups of two are asked with "
        "all pairs too.",
    )  # fmt: skip
    orders = middle.number_input(
        "Orders shown", 1, MOST_ORDERS, group_shuffles.ORDERS, key="new.orders",
        help="Random orders that each list is scored in, beside its own.",
    )  # fmt: skip
    seed = right.number_input("Seed", 0, value=0, key="new.seed")
    try:
        shuffles = _numbers(text)
        group_shuffles.check(shuffles, int(orders))
        _only_gsf(names)
        cost = _cost((names, shuffles, int(orders)), shown)
        cost += shared.trainings(data, names, usual.lists)
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/error:")
        return
    st.markdown(f"{cost}. What is stored is never repeated.")
    if st.button("Run this study", type="primary", key="new.run", disabled=not names):
        asked: dict[str, Any] = {"data": data, "rankers": list(names), "shuffles": shuffles}
        made = training.lists_asked(data, usual.lists)
        asked |= {"orders": int(orders), "seed": int(seed)} | ({"lists": made} if made else {})
        strip.hand_in(STRIP, asked)


def _only_gsf(names: Sequence[str]) -> None:
    for name in names:
        if RankerName.parse(name).base != GSF:
            raise UsageError(f"{name} forms no groups of documents: choose a gsf")


def _numbers(text: str) -> list[int]:
    """The numbers of shuffles, rising.

    Raises:
        ParameterError: no whole numbers.
    """
    try:
        return sorted({whole(part) for part in text.split(",") if part.strip()})
    except ValueError:
        raise ParameterError("shuffles", text, "whole numbers, comma-separated") from None


def _cost(asked: tuple[Sequence[str], Sequence[int], int], shown: Artefact | None) -> str:
    """What the button will cost: scorings of lists, seconds by the study shown."""
    names, shuffles, orders = asked
    passes = len(names) * sum(shuffles) * (orders + 1)
    text = (
        f"Each list is scored in **{orders + 1} orders** with {len(shuffles)} "
        f"{'number' if len(shuffles) == 1 else 'numbers'} of shuffles"
    )
    if shown is not None:
        frame = groups.table(str(shown.key))
        done = frame["shuffles"].sum() * (shown.recipe["orders"] + 1)
        seconds = passes * float(frame["seconds"].sum()) / max(int(done), 1)
        text += f", about **{duration(seconds)}** by the pace of the study shown"
    return text

"""The page Train: choice of rankers, cost, training in the background, progress."""

from collections.abc import Iterable, Sequence

import pandas as pd
import streamlit as st

from shuffleproof.app import address, jobs, proposals, runs, state, training
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures.training import compare_dots, curves
from shuffleproof.app.plain import escaped_sentence, refusal
from shuffleproof.app.study import parts
from shuffleproof.app.study.picture import chart
from shuffleproof.app.views.train import form as train_form
from shuffleproof.app.when import age_in_words
from shuffleproof.core.errors import JobError
from shuffleproof.core.execution.jobs import Job, Step
from shuffleproof.core.experiment.trainings import FitSize
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.studies.tables import COUNT, NAME, VALUE, Column, Table, keys

QUESTION = "Which rankers should be trained on this data set, and how is training going?"
CONVENTION = Measure("NDCG", 10).convention()
SHOWN, LISTED = 4, 50
RUNS, COMPARED = train_form.RUNS, "compared"
"""Address keys of trainings whose curves are shown, and of rankers side by side."""

DIGITS = train_form.DIGITS


def page() -> None:
    """Draw the page for the data set in use."""
    parts.header("Train", QUESTION)
    with parts.errors_shown(again=True):
        data = training.fit_size(state.data())
        table = training.trained_rankers(data)
        picture, form = parts.top_row([4, 3])
        with form:
            train_form.form(data)
        trainings = [job for job in jobs.table().list() if job.kind == "train"]
        mine = [job for job in trainings if job.parameters["data"] == data.data]
        with picture:
            _learning(data, mine, table)
        _trained(data, table)
        _history(mine)


def _learning(data: FitSize, mine: list[Job], table: pd.DataFrame) -> None:
    """Draw curves of running trainings and of those in the address; else the best rankers.

    Imported rankers have no curves; they are shown side by side.
    """
    active, ended = [job for job in mine if not job.ended], _ended(mine)
    wanted = address.says(RUNS)
    chosen = [job for job in ended if job.id[:DIGITS] in wanted]
    ids = [job.id for job in [*active, *chosen]]
    measured = table.dropna(subset="valid")
    latest = [job for job in ended if job.state == "done"][:SHOWN]
    if ids or (measured.empty and not latest):
        st.subheader("Learning")
        st.fragment(_watched, run_every=jobs.FAST if active else None)(ids)
    elif not measured.empty:
        _side_by_side(measured, data)
    if not active and latest and not {job.id[:DIGITS] for job in latest} <= set(wanted):
        _training_links(
            "Latest trainings", ", ".join(map(jobs.ranker, latest)), RUNS, _address_ids(latest)
        )
    for job in [job for job in ended if job.state in {"failed", "cancelled"}][:SHOWN]:
        _unfinished(job)


def _ended(mine: list[Job]) -> list[Job]:
    return [job for job in mine if job.ended][:LISTED]


def _address_ids(training_jobs: Iterable[Job]) -> list[str]:
    """Ids of trainings in addresses."""
    return [job.id[:DIGITS] for job in training_jobs]


def _training_links(words: str, what: str, name: str, texts: Sequence[str]) -> None:
    """Draw a button that writes a new choice into the address."""
    st.button(
        escaped_sentence(f"{words}: {what}"), key=f"door {name}", type="tertiary",
        on_click=address.pin, icon=":material/update:", args=(name, *texts),
    )  # fmt: skip


def _side_by_side(table: pd.DataFrame, data: FitSize) -> None:
    """Draw validation NDCG@10 of the rankers in the address, of outstanding ones or of the best."""
    labels = table["key"].map(
        {ranker.key: ranker.label for ranker in proposals.trained_rankers(data.data)}
    )
    named = labels.fillna(table["ranker"] + "#" + table["key"].str[7:13])
    frame = pd.DataFrame({"label": named, "value": table["valid"].astype(float)})
    wanted = set(address.says(COMPARED)) or proposals.contrasting_rankers(data.data)
    shown = frame[table["key"].isin(wanted)]
    if shown.empty:
        shown = frame.nlargest(SHOWN, "value")
    best = shown.iloc[int(shown["value"].argmax())]
    of = f"Of the {len(shown)} in the picture, " if 1 < len(shown) < len(frame) else ""
    value = f"NDCG@10 {best['value']:.3f}"
    parts.finding(f"{of}{best['label']} is best on the validation part, with {value}.")
    chart(compare_dots(shown), "compared", config=parts.PLAIN)
    parts.convention(CONVENTION, "curves appear here while rankers are trained")
    if len(shown) < len(frame):
        _training_links(
            "Side by side", f"all {len(frame)} trained here", COMPARED, table["key"].tolist()
        )


def _watched(identifiers: list[str]) -> None:
    """Draw curves, progress and cancel buttons of trainings; repeated every second."""
    watched: list[tuple[Job, tuple[Step, ...]]] = []
    for identifier in identifiers:
        try:
            job = jobs.table().get(identifier)
        except JobError:  # removed in another tab
            continue
        watched.append((job, jobs.table().history(job.id)))
    lines = _runs(watched)
    if lines:
        chart(curves(lines), "learning", config=parts.PLAIN)
        parts.finding(_finding(lines))
        parts.convention(CONVENTION, "○ best")
    elif not any(not job.ended for job, _ in watched):
        st.info(
            "No trainings on this data set yet. Choose rankers and press Train: their learning "
            "curves appear here.",
            icon=":material/school:",
        )
    for job, steps in watched:
        if not job.ended:
            _under_way(job, jobs.job_progress(job, steps))


def _runs(watched: list[tuple[Job, tuple[Step, ...]]]) -> dict[str, pd.DataFrame]:
    """Curves to draw, by the shortest unique name."""
    curved = [(job, jobs.curve(steps)) for job, steps in watched]
    curved = [(job, run) for job, run in curved if run[["loss", "valid"]].notna().any(axis=None)]
    rankers = [jobs.ranker(job) for job, _ in curved]
    recipes = [jobs.recipe(job) for job, _ in curved]
    runs = {}
    for (job, run), ranker, recipe in zip(curved, rankers, recipes, strict=True):
        name = ranker if rankers.count(ranker) == 1 else recipe
        runs[name if recipes.count(recipe) == 1 else f"{name} {job.id[:4]}"] = run
    return runs


def _finding(runs: dict[str, pd.DataFrame]) -> str:
    sentences = []
    for name, run in runs.items():
        valid = run.dropna(subset="valid")
        if len(valid):
            best = valid.iloc[int(valid["valid"].argmax())]
            sentences.append(f"{name} is best at epoch {best['done']:.0f} with {best['valid']:.3f}")
        else:
            sentences.append(f"{name} has a loss of {run['loss'].dropna().iloc[-1]:.3f}")
    return "; ".join(sentences) + "."


def _under_way(job: Job, how: jobs.JobProgress) -> None:
    words, button = st.columns([4, 1], vertical_alignment="center")
    words.progress(
        how.share, f"**{escaped_sentence(jobs.recipe(job))}** · {escaped_sentence(how.words)}"
    )
    button.button(
        "Cancel",
        key=f"cancel {job.id}",
        on_click=jobs.press,
        args=("cancel", job.id),
        disabled=job.cancel_wanted,
        width="stretch",
    )


def _unfinished(job: Job) -> None:
    """Draw a failed or cancelled training: the reason, and buttons to retry or remove it."""
    reason = f": {job.reason.partition(chr(10))[0]}" if job.reason else ""
    words = refusal(f"{jobs.name(job)} {job.state}{reason}")
    with st.container(border=True):
        st.markdown(words if job.state == "cancelled" else f":material/error: {words}")
        with st.container(horizontal=True):
            for verb, label in (("retry", "Try again"), ("forget", "Remove")):
                st.button(label, key=f"{verb} {job.id}", on_click=jobs.press, args=(verb, job.id))


def _trained(data: FitSize, table: pd.DataFrame) -> None:
    """Draw the table of trained rankers, seeds in one row; two ticked rows can be compared."""
    st.subheader("Trained on this data set")
    if table.empty:
        st.caption("None yet.")
        return
    frame = runs.table(table, runs.tested_rankers(data.data))
    frame = frame.sort_values("valid", ascending=False, kind="stable", ignore_index=True)
    frame["age"] = [age_in_words(created.timestamp()) for created in frame["created"]]
    on_lists = frame.loc[~frame["lists"].isin([ALL_DOCUMENTS, ""]), "lists"]  # "": combinations
    varying = len(set(on_lists)) > 1
    several, tested = bool((frame["seeds"] > 1).any()), bool(frame["test"].notna().any())
    spread = "Standard deviation over seeds (n - 1)."
    columns = (
        Column("ranker", "Ranker", NAME),
        Column("valid", "Validation NDCG@10", VALUE, f"Mean over seeds. {CONVENTION}"),
        *([Column("valid_sd", "± sd", VALUE, spread)] if several else []),
        Column("seeds", "Seeds", COUNT),
        Column("recipe", "Recipe", help="The nearest preset, and what differs from it."),
        *([Column("lists", "Lists", NAME, "How its lists were made.")] if varying else []),
        *([Column("test", "Test NDCG@10", VALUE, "From stored benchmarks.")] if tested else []),
        *([Column("test_sd", "± sd of test", VALUE, spread)] if tested and several else []),
        Column("size", "Size", COUNT, "Parameters of a network; else trees or rounds."),
        Column("unit", "Counts"),
        Column("seconds", "Seconds", ",.1f", "To train it, mean over seeds."),
        Column("age", "Made"),
    )
    title = "Trained rankers: validation and test NDCG@10, seeds, size, cost and recipe"
    shown = Table(frame[keys(columns)], columns, title)
    data_frame(shown, "trained", widths={"recipe": 180})
    parts.link("benchmark", "Per-query results: Benchmark")


HISTORY = (
    Column("recipe", "Recipe"), Column("when", "When"), Column("ending", "Ended"),
    Column("reason", "Reason"), Column("job", "Job"),
)  # fmt: skip


def _history(mine: list[Job]) -> None:
    """Draw the ended trainings; chosen rows are drawn above."""
    ended = _ended(mine)
    if not ended:
        return

    def select_trainings() -> None:
        rows = st.session_state["train history"]["selection"]["rows"]
        address.pin(RUNS, *_address_ids(ended[row] for row in rows))

    st.subheader("History")
    st.caption("Select rows to see their curves above.")
    rows = [
        (
            with_display_names(jobs.recipe(job)),
            age_in_words(job.finished),
            jobs.outcome(job),
            job.reason.partition("\n")[0],
            job.id[:8],
        )
        for job in ended
    ]
    table = Table(pd.DataFrame(rows, columns=keys(HISTORY)), HISTORY, "Trainings that ended")
    data_frame(table, "train history", on_select=select_trainings, selection_mode="multi-row")

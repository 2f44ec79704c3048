"""The page Jobs and the head of the sidebar, in every state a job can be in."""

import io
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest

from shuffleproof.app import jobs
from shuffleproof.core import jobs as work
from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.execution.jobs import Job, Step
from shuffleproof.core.library.uploads import spool
from shuffleproof.core.store.artefacts import Store
from tests.app_jobs import desk, jobs_script, opened, plain, words


@pytest.fixture
def table(tmp_path, monkeypatch):
    return desk(Store(tmp_path), monkeypatch)


def button(page, label):
    return next(one for one in page.button if one.label == label)


def test_cancel_and_try_again(table):
    job = table.train("dlcm")
    page = opened(jobs_script)
    button(page, "Cancel").click().run()
    assert table.jobs.get(job.id).state == "cancelled"
    assert "Cancelled (1)" in words(page)
    button(page, "Try again").click().run()
    assert table.jobs.get(job.id).state == "waiting"
    assert table.started


def test_a_running_job_is_asked_to_stop_once(table):
    table.run(table.train("dlcm"), 1)
    page = opened(jobs_script)
    button(page, "Cancel").click().run()
    assert "stopping" in words(page)
    assert button(page, "Cancel").disabled


def test_a_removed_job_is_gone_and_a_second_tab_says_so(table):
    job = table.train("dlcm")
    table.jobs.cancel(job.id)
    page, other = opened(jobs_script), opened(jobs_script)
    button(page, "Remove").click().run()
    assert "No jobs yet" in words(page)
    button(other, "Remove").click().run()
    assert "no such job" in words(other)


def test_details_show_parameters_reason_and_log(table):
    job = table.train("dlcm", changes={"epochs": "3"})
    held = table.run(job)
    path = table.jobs.folder / "logs" / f"{job.id}.log"
    path.parent.mkdir(exist_ok=True)
    path.write_text("last words\n")
    table.end(held, "failed", reason="it broke\nin many lines")
    page = opened(jobs_script)
    assert not page.code
    page = opened(jobs_script, **{f"log-{job.id[:8]}": True})
    assert [one.value for one in page.code] == ["it broke\nin many lines", "last words"]
    shown = dict(page.dataframe[0].value.to_numpy().tolist())
    assert shown["ranker"] == "dlcm"
    assert "'epochs': '3'" in shown["changes"]
    assert shown["job"] == job.id[:16]


def test_markup_in_names_is_shown_and_not_obeyed(table):
    name = "<b>![x](http://e.org/x.png)"
    Jobs = type(table.jobs)  # noqa: N806 (a class)
    job = Jobs(table.store.root).submit("train", {"data": name, "ranker": "dlcm"})
    page = opened(jobs_script)
    shown = next(one.value for one in page.markdown if "DLCM" in one.value)
    assert "![x](http" not in shown
    assert name in plain(shown)
    assert job.state == "waiting"


def test_what_was_done_is_a_link_on_the_page(table, monkeypatch):
    job, lost = table.train("dlcm"), table.train("mart")
    digest = "0" * 64
    table.end(table.run(job, 1), result={"artefact": f"ranker-{digest}"})
    table.end(table.run(lost, 1), result={"artefact": "ranker-gone"})
    found = SimpleNamespace(key=SimpleNamespace(kind="ranker"))

    def resolve(_store, text):
        if digest not in text:
            raise ArtefactError(text, "is not in the store", "Name another.")
        return found

    monkeypatch.setattr(Store, "resolve", resolve)
    linked = [link.proto.label for link in opened(jobs_script).get("page_link")]
    assert linked.count("Open the result") == 1


def test_a_toast_tells_the_end_once_and_not_to_who_comes_later(table):
    job = table.train("dlcm")
    held = table.run(job, 1)
    page = opened(jobs_script)
    assert not page.toast
    table.end(held, result={"valid": {"NDCG@10": 0.5}})
    page.run()
    told = plain(" ".join(one.value for one in page.toast))
    assert "Train DLCM small on sample" in told
    assert "validation NDCG@10 0.500 · done" in told, "three lines of a toast are seen"
    assert not opened(jobs_script).toast
    page.run()
    assert not page.toast


def sidebar_script():
    from shuffleproof.app import sidebar

    sidebar.draw("data")
    sidebar.watch()


@pytest.mark.parametrize(("view", "toasts"), [("Facts", 1), ("Add data", 0)])
def test_the_end_of_an_upload_is_told_once_and_by_the_form_where_that_is_shown(table, view, toasts):
    job = work.submit(table.store, "ingest", {"name": "mine", "upload": "none"})
    held = table.run(job)
    page = opened(sidebar_script, **{jobs.UPLOADS: {job.id: "running"}})
    page.query_params["view"] = view
    page.run()
    table.end(held, "failed", reason="bad.txt:3: a label that is no number")
    page.run()
    assert not page.exception
    told = [plain(one.value) for one in page.toast]
    assert len(told) == toasts
    assert all("a label that is no number" in one for one in told)


def test_remaining_time_forgets_a_pause():
    at = [0.0, 1.0, 2.0, 3.0, 500.0, 501.0, 502.0]
    steps = [Step(done + 1, 20, "epochs", when, {}) for done, when in enumerate(at)]
    assert jobs.remaining_seconds(steps, "epochs") == pytest.approx(13.0)
    assert jobs.remaining_seconds(steps, "epochs", 0.5) == pytest.approx(12.5)
    assert jobs.remaining_seconds(steps, "trees") is None


def test_within_an_epoch_the_bar_moves_and_the_end_is_foretold():
    values = {"lists_per_second": 250.0, "epoch_seconds": 4.0}
    told = {"done": 0, "total": 10, "unit": "epochs", "part": 0.5, "values": values}
    running = Job("0", "train", {}, state="running", progress=told)
    said = "0 of at most 10 epochs · 250 lists/s · at most 38 s more"
    assert jobs.job_progress(running) == jobs.JobProgress(0.05, said, 38.0)
    measured = [Step(1, 10, "epochs", 10.0, {}), Step(2, 10, "epochs", 12.0, {})]
    later = replace(running, progress=told | {"done": 2})
    assert jobs.job_progress(later, measured).words.endswith("at most 15 s more")


def test_a_failed_ingestion_is_tried_again_while_its_files_are_kept(table):
    upload = spool(table.store, [("train.txt", io.BytesIO(b"1 qid:1 1:0.5\n"))])
    job = work.submit(table.store, "ingest", {"upload": upload, "name": "mine"})
    table.end(table.run(job), "failed", reason="the disk was full")
    page = opened(jobs_script)
    button(page, "Try again").click().run()
    assert table.jobs.get(job.id).state == "waiting"
    table.end(table.run(job), "failed", reason="the disk was full")
    shutil.rmtree(table.store.root / "uploads" / upload)
    page = opened(jobs_script)
    assert "Its files are no longer stored" in words(page)
    assert "Try again" not in [one.label for one in page.button]


def test_a_press_is_heard_while_the_jobs_change(table, monkeypatch):
    """What watches the jobs stands above the page: it may not end the run that tells of a press."""
    monkeypatch.setattr(jobs, "active", lambda: ((), True))

    def script():
        import streamlit as st

        from shuffleproof.app import sidebar

        sidebar.watch()
        st.markdown(f"pressed: {st.button('Press')}")

    page = opened(script)
    button(page, "Press").click().run()
    assert "pressed: True" in words(page)

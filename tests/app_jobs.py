"""Jobs in every state for the tests of pages: the table is written as workers write it."""

import json
import os
import time

from streamlit.testing.v1 import AppTest

from shuffleproof.app import services
from shuffleproof.core import jobs as work
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.job_run import JobRun
from shuffleproof.core.execution.jobs import THIS_JOB, Jobs, transaction
from shuffleproof.core.progress import Progress, run_to_end


def state_of(store, job, **values):
    """Put a job into a state as its worker would."""
    with transaction(Jobs(store.root).folder) as table:
        for name, value in values.items():
            table.execute(f"UPDATE job SET {name} = ? WHERE id = ?", (value, job.id))  # noqa: S608 (names below)


def worked(store, *given):
    """Do jobs as their worker would, the waiting ones if none are given; the last of them."""
    for job in given or work.jobs_of(store).list("waiting"):
        try:
            ended = {
                "result": json.dumps(run_to_end(work.KINDS[job.kind](store, **job.parameters)))
            }
        except ShuffleproofError as error:
            ended = {"state": "failed", "reason": str(error)}
        state_of(store, job, **{"state": "done", "finished": 2.0} | ended)
    return work.jobs_of(store).get(job.id)


def begun(generator, job, reports):
    """Do work in the name of a job up to some reports, and stop there."""
    os.environ[THIS_JOB] = job.id
    try:
        for _ in range(reports):
            next(generator)
        generator.close()
    finally:
        del os.environ[THIS_JOB]


class Desk:
    """A store whose jobs are moved by hand instead of by processes."""

    def __init__(self, store):
        self.store, self.jobs, self.started = store, work.jobs_of(store), 0

    def start_waiting(self, _store):
        self.started += 1

    def train(self, ranker, **more):
        return work.submit(self.store, "train", {"data": "sample", "ranker": ranker} | more)

    def run(self, job, epochs=0, *, total=30, loss=1.0):
        """Let a waiting job run for some epochs; returns its row."""
        lease = json.dumps({"process": os.getpid(), "slot": "cpu 0"})
        state_of(
            self.store, job, state="running", lease=lease, started=time.time(),
            attempts=self.jobs.get(job.id).attempts + 1, reason="",
        )  # fmt: skip
        row = JobRun(self.store.root, job.id)
        for epoch in range(1, epochs + 1):
            values = {"loss": loss / epoch, "valid": 0.5 + epoch / 100, "lists_per_second": 400.0}
            report = Progress(epoch, total, "epochs", values)
            row.note(report)
            row.set()
        return row

    def end(self, row, state="done", result=None, reason=""):
        row.finish(state, result, reason)


def desk(store, monkeypatch):
    """A desk whose store the app uses, without the shipped one; nothing real is started."""
    made = Desk(store)
    monkeypatch.setattr(services, "store", lambda: store)
    monkeypatch.setattr(work, "start_waiting", made.start_waiting)
    return made


def train_script():
    import streamlit as st

    from shuffleproof.app import sidebar
    from shuffleproof.app.views.train import page as train

    sidebar.draw()
    sidebar.watch()
    st.navigation([st.Page(train.page, title="Train", url_path="train")]).run()


def jobs_script():
    import streamlit as st

    from shuffleproof.app import sidebar
    from shuffleproof.app.views import jobs

    sidebar.draw()
    sidebar.watch()
    st.navigation([st.Page(jobs.page, title="Jobs", url_path="jobs")]).run()


def opened(script, **session):
    page = AppTest.from_function(script, default_timeout=60)
    for name, value in session.items():
        page.session_state[name] = value
    return page.run()


def words(page):
    """Everything that the page says, as people read it."""
    assert not page.exception, page.exception
    kinds = (page.title, page.subheader, page.markdown, page.caption, page.info, page.success,
             page.error, page.toast)  # fmt: skip
    said = [element.value for kind in kinds for element in kind]
    said += [progress(element) for element in page.get("progress")]
    said += [element.label for element in page.button]
    return plain(" ".join(map(str, said)))


def progress(element):
    return element.proto.text


def plain(text):
    """Without what keeps Markdown from reading it."""
    return text.replace("\\", "").replace("\u2060", "")

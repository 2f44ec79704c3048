"""Jobs in every state for the tests of pages: the table is written as workers write it."""

from streamlit.testing.v1 import AppTest

from shuffleproof.app import services
from shuffleproof.core import jobs as work
from shuffleproof.core.execution import jobs_history, jobs_lease
from shuffleproof.core.execution.jobs import Jobs
from shuffleproof.core.execution.jobs_database import Database
from shuffleproof.core.execution.this_job import THIS_JOB
from shuffleproof.core.progress import Progress
from shuffleproof.core.studies import engine


def state_of(store, job, **values):
    """Put a job into a state as its worker would."""
    with Jobs(store.root)._database.transaction() as table:
        for name, value in values.items():
            table.execute(f"UPDATE job SET {name} = ? WHERE id = ?", (value, job.id))  # noqa: S608 (names below)


def announce(job, key, plan, query_ids, facts):
    """Announce a study as the worker of this job does."""
    token = THIS_JOB.set(job.id)
    try:
        engine.register(services.store(), key, plan, query_ids, facts)
    finally:
        THIS_JOB.reset(token)


class Desk:
    """A store whose jobs are moved by hand instead of by a supervisor."""

    def __init__(self, store):
        self.store, self.jobs, self.started = store, work.jobs_of(store), 0
        self.database = Database(self.jobs.folder / "jobs.sqlite")

    def ensure_running(self, _store):
        self.started += 1
        return False

    def train(self, ranker, **more):
        return work.submit(self.store, "train", {"data": "sample", "ranker": ranker} | more)

    def run(self, job, epochs=0, *, total=30, loss=1.0):
        """Let the next waiting job, which must be this one, run for some epochs."""
        self.jobs.prioritise(job.id, 1000)
        held = jobs_lease.claim(self.database, f"token {job.id[:8]}")
        assert held.id == job.id
        for epoch in range(1, epochs + 1):
            values = {"loss": loss / epoch, "valid": 0.5 + epoch / 100, "lists_per_second": 400.0}
            report = Progress(epoch, total, "epochs", values)
            jobs_history.add(jobs_history.history_path(self.jobs.folder, job.id), report)
            told = {"done": epoch, "total": total, "unit": "epochs", "values": values}
            jobs_lease.report(self.database, job.id, held.token, told)
        return held

    def end(self, held, state="done", result=None, reason=""):
        ending = jobs_lease.JobEnding(state, result, reason)
        jobs_lease.finish(self.database, held.id, held.token, ending)


def desk(store, monkeypatch):
    """A desk whose store the app uses, without the shipped one; nothing real is started."""
    made = Desk(store)
    monkeypatch.setattr(services, "store", lambda: store)
    monkeypatch.setattr(work, "ensure_running", made.ensure_running)
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

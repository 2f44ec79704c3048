"""The page of a kind of study: its question, what is stored, what is at work, and the form."""

from collections.abc import Callable, Mapping

from shuffleproof.app import opened, state
from shuffleproof.app.study import choice, job_panel, parts
from shuffleproof.app.study import form as study_form
from shuffleproof.app.study.form import Form
from shuffleproof.core.store.manifest import Artefact


def page(
    form: Form,
    title: str,
    study: Callable[[Mapping[str, Artefact]], None],
    *,
    missing: str,
    remedy: str,
) -> bool:
    """Draw a stored study of the data set in use, what is at work, and the form.

    Args:
        form: of the kind of study.
        title: of the page.
        study: draws one of the stored studies.
        missing: what is not stored yet, `{data}` being the data set.
        remedy: what the form does about it.

    Returns:
        Whether a study is stored.
    """
    data = state.data()
    parts.header(title, form.question.title)
    stored = opened.stored(form.panel.kind, data)
    at_work = job_panel.progress(form.panel, (data,))
    if stored:
        study(stored)
    elif not at_work:
        parts.not_yet(missing.format(data=data), f"{remedy} Or on the command line:")
        parts.command(lambda: study_form.proposed(form, data))
    study_form.draw(form, data, choice.shown(stored), opened=not stored and not at_work)
    return bool(stored)

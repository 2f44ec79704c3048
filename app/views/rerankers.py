"""The page of rerankers: effects of order, company and noise, live or from recorded answers."""

from shuffleproof.app import services, state, study_access
from shuffleproof.app.study import parts
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.page import StudyPage
from shuffleproof.core.rerank.calls import KIND
from shuffleproof.core.studies.kinds.rerankers.question import Rerankers

FORM = Form(
    Rerankers.kind,
    rows=(("rankers",), ("orders", "repeats", "sets")),
    note="Rerankers behind HTTP are examined on the command line.",
)
PAGE = StudyPage(
    "Rerankers",
    FORM,
    measured=False,
    caption="Without an effect of order the curve is flat, and all rows of the heat map (parts of "
    "the list, as shown) are alike.",
)


def recorded_names() -> list[str]:
    """Names of stored recorded answers."""
    return [name for name, key in services.store().names().items() if key.kind == KIND]


def page() -> None:
    """Draw the studies of recorded answers, or of the data set in use."""
    parts.header(PAGE.title, Rerankers.title)
    names = recorded_names()
    data = state.data()
    missing = state.missing_option("answers", [data, *names])
    chosen = data
    if names:
        label = {data: f"{data} (data set)"} | {name: f"{name} (recorded)" for name in names}
        chosen = parts.select(
            "Answers", "answers", [data, *names], data, format_func=lambda name: label[name]
        )
        state.instead("answers", missing, chosen)
    if chosen == data:
        PAGE.body()
        parts.link("outside", "Recorded answers, or a reranker's address")
        return
    stored = study_access.stored_studies(Rerankers.kind, chosen)
    if stored:
        PAGE.study(stored)
    else:
        parts.not_yet(f"No study of {chosen} is stored yet.")
        parts.shell(f"shuffleproof study rerankers --data '{chosen}'")

"""The page of GSF's shuffles: sensitivity to input order, and the gain from more shuffles."""

from shuffleproof.app import proposals
from shuffleproof.app.proposals import Proposal
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.page import StudyPage
from shuffleproof.core.answers.trained_rankers import in_order_of_arrival
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.group_shuffles.question import GroupShuffles

GSF = "gsf"


def proposed_values(data: str, shown: Artefact | None) -> Proposal:
    """GSFs of the study shown; else the first trained one; else the cheapest one."""
    if shown is not None:
        return proposals.for_study(data, shown)
    trained = in_order_of_arrival(
        ranker for ranker in proposals.trained_rankers(data) if ranker.name == GSF
    )
    lists = proposals.for_study(data).lists
    if not trained:
        return Proposal((proposals.cheapest(GSF),), lists)
    return Proposal((proposals.name_in_jobs(trained[0]),), trained[0].lists or lists)


FORM = Form(
    GroupShuffles.kind,
    rows=(("rankers",), ("shuffles", "orders", "seed")),
    from_shown=("shuffles",),
    proposed=proposed_values,
    offered=lambda name: name == GSF,
    note="Only GSFs of groups of two documents or more.",
)
PAGE = StudyPage("Group shuffles", FORM, measured=False)
page = PAGE.draw

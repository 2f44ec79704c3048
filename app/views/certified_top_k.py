"""The page of certified top documents: certificates next to attacks, and their price."""

from shuffleproof.app.study.form import Form
from shuffleproof.app.study.page import StudyPage
from shuffleproof.core.studies.kinds.certified_top_k.question import CertifiedTopK

FEW = 50
"""Number of queries of a first study; the attack takes most of the time."""

FORM = Form(
    CertifiedTopK.kind,
    rows=(("rankers",), ("inject", "k", "K", "queries")),
    from_shown=("rankers", "inject", "k", "K"),
    usual=lambda _data: {"queries": FEW},
    note="Certificates are for subset-M:RANKER and for rankers of single documents.",
)
PAGE = StudyPage(
    "Certified top k", FORM, measured=False,
    caption="Filled marks: certified share. Open marks, dotted: share that is left after the "
            "attack. For each ranker, the true share lies between them.",
)  # fmt: skip
page = PAGE.draw

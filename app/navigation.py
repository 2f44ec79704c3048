"""The pages and their tabs: titles, addresses, modules and pinned address names."""

from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType

STUDY = ("study", "show")
CURVE = (*STUDY, "measure")


@dataclass(frozen=True)
class Page:
    """One page, or one tab of a page.

    Attributes:
        title: title in the navigation.
        path: path in the address, or name of the tab; empty: the first page.
        module: module of `app/views` whose function `page` draws it; empty: tabs draw it.
        about: purpose, in words that a user would search for.
        pins: names that its address and link always hold, besides the data set.
        docs: page of the documentation, without its ending.
        tabs: tabs, the first of which opens by default.
    """

    title: str
    path: str
    module: str = ""
    about: str = ""
    pins: tuple[str, ...] = ()
    docs: str = "studies"
    tabs: tuple["Page", ...] = ()

    @property
    def view(self) -> ModuleType:
        """Module that draws it, imported when it is needed."""
        return import_module(f"shuffleproof.app.views.{self.module}")

    def draw(self) -> None:
        """Draw it."""
        self.view.page()


NAVIGATION = (
    Page("Home", "", "overview", "the findings of the sample", ("order",), "install"),
    Page("Your ranker", "your-ranker", tabs=(
        Page("Your ranker", "your-ranker", "outside.page", "test your own ranker: function, "
             "model, address, answers, scores, TREC runs", docs="your-ranker"),
        Page("Rerankers", "rerankers", "rerankers", "order, company and noise in the answers "
             "of rerankers", STUDY, "your-ranker"),
    )),
    Page("Data", "data", "data.page", "upload your own files, features, problems",
         docs="data-formats"),
    Page("Train", "train", tabs=(
        Page("Train", "train", "train.page", "train rankers, learning curves", docs="rankers"),
        Page("Tune", "tune", "tune", "hyperparameter search on validation", docs="rankers"),
    )),
    Page("Query lab", "query-lab", tabs=(
        Page("Invariance", "invariance", "invariance", "shuffle a list (position bias): which "
             "rankings change, which document falls most",
             ("query", "lists", "rankers", "order"), "certificates"),
        Page("One query", "query", "one_query", "one query under every perturbation",
             ("study", "query", "measure"), "perturbations"),
    )),
    Page("Perturbations", "perturbations", "perturbations", "loss of each ranker under each "
         "perturbation", CURVE, "perturbations"),
    Page("Curves", "curves", tabs=(
        Page("Initial ranking", "initial-ranking", "initial_ranking",
             "a worse initial ranking, which ranker loses least, Figure 3 of SetRank", CURVE),
        Page("Set size", "set-size", "set_size",
             "longer lists than in training, Table 3 of SetRank", CURVE),
        Page("Several initial rankings", "initial-rankings", "initial_rankings",
             "no, one or several initial rankings, Table 4 of SetRank", CURVE),
        Page("Worst case", "worst-case", "worst_case", "the worst order found within a few swaps",
             STUDY),
        Page("Certified top k", "certified-top-k", "certified_top_k",
             "can added documents push others out of the top; "
             "certificates and adversarial attacks", STUDY, "certificates"),
        Page("Group shuffles", "group-shuffles", "group_shuffles", "GSF, its groups and shuffles",
             STUDY),
    )),
    Page("Attention", "attention", "attention.page", "which documents a ranker looks at",
         ("query", "lists", "ranker", "change"), "papers"),
    Page("Benchmark", "benchmark", tabs=(
        Page("Benchmark", "benchmark", "benchmark.page", "which ranker is best, is it "
             "significant, significance, paired tests",
             ("study", "measure", "ranker"), "statistics"),
        Page("Training noise", "training-noise", "training_noise", "row order, column order and "
             "seed of LightGBM, XGBoost, CatBoost and other trainings", ("study", "measure"),
             "statistics"),
        Page("Ablation", "ablation", "ablation", "the paper against the released code",
             ("study", "measure"), "papers"),
    )),
    Page("Robustness card", "card", "card", "a ranker's robustness on one page, its worst "
         "query", CURVE),
    Page("Library", "library", tabs=(
        Page("Library", "library", "library.page", "everything stored: rankers, studies, data"),
        Page("Jobs", "jobs", "jobs", "running, waiting and failed jobs", docs="timings"),
    )),
    Page("Preferences", "preferences", "preferences", "rank aggregation from pairwise preferences",
         ("preferences", "study", "family"), "preferences"),
    Page("Retrieval", "retrieval", "retrieval", "text search: BM25, SNRM, inverted index",
         ("collection", "study"), "retrieval"),
    Page("Present", "present", "presentation", "findings on a projector", ("study",)),
)  # fmt: skip
"""Pages in the order of the sidebar."""

SEARCH = Page("Search", "search", "search", "queries, documents, terms, pages, rankers, studies")
UNLISTED = (
    Page("Tour", "tour", "tour", "five steps on the sample", ("step", "order"), "install"),
    SEARCH,
)
"""Pages that only links lead to."""

EVERY = {page.path: page for page in (*NAVIGATION, *UNLISTED)}
"""All pages by path."""

PAGES = {part.path: part for page in EVERY.values() for part in page.tabs or (page,)}
"""Everything that draws itself: pages without tabs, and tabs, by path or name."""

MOVED = {
    tab.path: (page.path, {"tab": tab.path})
    for page in EVERY.values()
    for tab in page.tabs
} | {
    "outside": ("your-ranker", {"tab": "your-ranker"}),
    "overview": ("", {}),
    "glossary": ("search", {"for": "term"}),
}  # fmt: skip
"""Path and query parameters by name of a tab, and by path of earlier versions."""


def address_of(path: str) -> tuple[str, dict[str, str]]:
    """Path of a page and query parameters of its tab, by the name of either.

    >>> address_of("worst-case"), address_of("data")
    (('curves', {'tab': 'worst-case'}), ('data', {}))
    """
    return MOVED.get(path, (path, {}))


def page_at(path: str) -> Page:
    """Page with a path; the search for an unknown one."""
    return EVERY.get(path) or replace(SEARCH, path=path)

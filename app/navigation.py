"""The pages: titles, paths, drawing functions and pinned address names."""

import itertools

from shuffleproof.app.sidebar import Page
from shuffleproof.app.views import (
    ablation,
    card,
    glossary,
    group_shuffles,
    initial_ranking,
    initial_rankings,
    invariance,
    jobs,
    one_query,
    overview,
    perturbations,
    preferences,
    presentation,
    rerankers,
    retrieval,
    set_size,
    tour,
    tune,
    worst_case,
)
from shuffleproof.app.views.attention import page as attention
from shuffleproof.app.views.benchmark import page as benchmark
from shuffleproof.app.views.data import page as data
from shuffleproof.app.views.library import page as library
from shuffleproof.app.views.outside import page as outside
from shuffleproof.app.views.train import page as train

STUDY = ("study", "show")


SECTIONS = {
    "Home": (
        Page(
            "Home", "", lambda: overview.page(TITLES), "the findings of the sample",
            ("order",), "install",
        ),
        Page("Tour", "tour", tour.page, "five steps on the sample", ("step", "order"), "install"),
        Page(
            "Presentation", "present", lambda: presentation.page(TITLES), "findings on a projector",
            ("study",),
        ),
        Page("Glossary", "glossary", glossary.page, "the terms of the field", docs="measures"),
    ),
    "Your ranker": (
        Page(
            "Your ranker", "outside", outside.page,
            "test your own ranker: function, model, address, answers, scores, runs",
            docs="your-ranker",
        ),
        Page(
            "Rerankers", "rerankers", rerankers.page,
            "order, company and noise in the answers of rerankers",
            STUDY, "your-ranker",
        ),
    ),
    "Data": (
        Page("Data", "data", data.page, "upload, features, problems", docs="data-formats"),
    ),
    "Rankers": (
        Page("Train", "train", train.page, "train a ranker, learning curves, runs", docs="rankers"),
        Page("Tune", "tune", tune.page, "hyperparameter search on validation", docs="rankers"),
    ),
    "Stress tests": (
        Page(
            "Perturbations", "perturbations", perturbations.page,
            "loss of each ranker under each perturbation",
            (*STUDY, "measure"), "perturbations",
        ),
        Page(
            "Invariance", "invariance", invariance.page,
            "shuffle a list and see which rankings change",
            ("query", "lists", "rankers", "before", "order"), "certificates",
        ),
        Page(
            "One query", "query", one_query.page,
            "one query under every perturbation",
            ("study", "query", "measure"), "perturbations",
        ),
        Page(
            "Initial ranking", "initial-ranking", initial_ranking.page,
            "a worse initial ranking, Figure 3 of SetRank",
            (*STUDY, "measure"),
        ),
        Page(
            "Set size", "set-size", set_size.page,
            "longer lists than in training, Table 3 of SetRank",
            (*STUDY, "measure"),
        ),
        Page(
            "Several rankings", "initial-rankings", initial_rankings.page,
            "several initial rankings, Table 4 of SetRank",
            (*STUDY, "measure"),
        ),
        Page(
            "Attention", "attention", attention.page, "which documents a ranker looks at",
            ("query", "lists", "ranker", "change"), "papers",
        ),
        Page("Worst case", "worst-case", worst_case.page, "the worst permutation found", STUDY),
        Page(
            "Group shuffles", "group-shuffles", group_shuffles.page,
            "GSF, its groups and shuffles", STUDY,
        ),
    ),
    "Results": (
        Page(
            "Benchmark", "benchmark", benchmark.page, "which ranker is best, paired tests",
            ("study", "measure", "ranker"), "statistics",
        ),
        Page(
            "Ablation", "ablation", ablation.page, "the paper against the released code",
            ("study", "measure"), "papers",
        ),
        Page(
            "Robustness card", "card", card.page, "a ranker's robustness on one page",
            (*STUDY, "measure"),
        ),
        Page("Library", "library", library.page, "everything stored: rankers, studies, data sets"),
        Page("Jobs", "jobs", jobs.page, "running, waiting and failed jobs", docs="timings"),
    ),
    "Labs": (
        Page(
            "Preferences", "preferences", preferences.page,
            "rank aggregation from pairwise preferences",
            ("preferences", "study", "family"), "preferences",
        ),
        Page(
            "Retrieval", "retrieval", retrieval.page, "text search: BM25, SNRM, inverted index",
            ("collection", "study"), "retrieval",
        ),
    ),
}  # fmt: skip
"""Pages by area; the sidebar shows those of the current area."""

PAGES = {page.path: page for page in itertools.chain(*SECTIONS.values())}
"""Pages by path."""

TITLES: dict[str, str] = {path: page.title for path, page in PAGES.items()}
"""Titles of pages by path, for links between pages."""

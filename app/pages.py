"""The pages: title, place in addresses, what draws them, and what their addresses pin."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from shuffleproof.app.views import (
    ablation,
    attention,
    benchmark,
    card,
    data,
    group_shuffles,
    initial_ranking,
    initial_rankings,
    invariance,
    jobs,
    library,
    outside,
    overview,
    perturbations,
    set_size,
    train,
    worst_case,
)

STUDY = ("study", "show")


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        title: in the navigation.
        path: in the address; empty: the page that an address without one shows.
        draw: draws it.
        pins: what its address always says, and its link; beside it the data set.
    """

    title: str
    path: str
    draw: Callable[[], None]
    pins: tuple[str, ...] = ()


SECTIONS = {
    "Start": (
        Page("Overview", "", lambda: overview.page(TITLES), ("order",)),
        Page("Data", "data", data.page),
        Page("Train", "train", train.page),
        Page("From outside", "outside", outside.page),
    ),
    "Studies": (
        Page(
            "Invariance", "invariance", invariance.page,
            ("query", "lists", "rankers", "before", "order"),
        ),
        Page("Group shuffles", "group-shuffles", group_shuffles.page, STUDY),
        Page("Initial ranking", "initial-ranking", initial_ranking.page, (*STUDY, "measure")),
        Page("Set size", "set-size", set_size.page, (*STUDY, "measure")),
        Page("Several rankings", "initial-rankings", initial_rankings.page, (*STUDY, "measure")),
        Page("Attention", "attention", attention.page, ("query", "lists", "ranker", "change")),
        Page("Perturbations", "perturbations", perturbations.page, (*STUDY, "measure")),
        Page("Worst case", "worst-case", worst_case.page, STUDY),
        Page("Benchmark", "benchmark", benchmark.page, ("study", "measure", "ranker")),
        Page("Ablation", "ablation", ablation.page, ("study", "measure")),
        Page("Robustness card", "card", card.page, (*STUDY, "measure")),
    ),
    "Work": (
        Page("Library", "library", library.page),
        Page("Jobs", "jobs", jobs.page),
    ),
}  # fmt: skip
"""The pages by heading, as the sidebar shows them."""

PAGES = {page.path: page for page in itertools.chain(*SECTIONS.values())}
"""The pages by path."""

TITLES: dict[str, str] = {path: page.title for path, page in PAGES.items()}
"""What the pages are called, by path: for links from one page to another."""

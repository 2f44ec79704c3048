"""The families that change the initial ranking, and those that change the input order alone."""

from shuffleproof.core.perturb import (
    feasibility,
    permutations,
    permutations_by_label,
    permutations_of_parts,
    ranking,
)
from shuffleproof.core.perturb.entry import INFINITE, SHARES, PerturbationEntry
from shuffleproof.core.perturb.feasibility import Reach, any_level
from shuffleproof.core.perturb.permutations import Arrangement
from shuffleproof.core.perturb.permutations_by_label import JudgedArrangement
from shuffleproof.core.perturb.ranking import (
    JudgedRankingPerturbation,
    PresentationPerturbation,
    RankingPerturbation,
    SortedPresentation,
    TieStorm,
)

INVARIANCE = "permutation invariance (SetRank, section 3)"


def _by_judgments(  # noqa: PLR0913, PLR0917 (what tells one family from another)
    family: str,
    arrange: JudgedArrangement,
    summary: str,
    unit: str,
    levels: tuple[float, ...],
    reach: Reach,
) -> PerturbationEntry:
    return PerturbationEntry(
        family,
        summary,
        "harm on purpose, with the judgments in view",
        unit,
        0.0,
        INFINITE,
        levels,
        lambda level: JudgedRankingPerturbation(family, level, arrange),
        brings=False,
        reach=reach,
        whole=True,
        random=family != "demote-best",
    )


def _exchanges(
    family: str, arrange: Arrangement, summary: str, source: str, reach: Reach
) -> PerturbationEntry:
    return PerturbationEntry(
        family,
        summary,
        source,
        "random swaps per list",
        0.0,
        INFINITE,
        (0.0, 1.0, 2.0, 5.0, 10.0, 20.0),
        lambda level: RankingPerturbation(family, level, arrange),
        brings=False,
        reach=reach,
        whole=True,
    )


RANKING = (
    PerturbationEntry(
        "transpositions",
        "Random pairs of documents, at any distance, exchange their places in the ranking.",
        "SetRank (Pang et al. 2020), Figure 3",
        "random swaps per list",
        0.0,
        INFINITE,
        (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0),
        lambda level: RankingPerturbation("transpositions", level, permutations.transposed),
        brings=False,
        reach=any_level,
        whole=True,
    ),
    PerturbationEntry(
        "adjacent-inversions",
        "Neighbours in the ranking are exchanged until exactly this many pairs are inverted.",
        "inversions as Kendall's τ counts them; drawn by a random walk",
        "inversions per list",
        0.0,
        INFINITE,
        (0.0, 1.0, 5.0, 20.0, 80.0, 160.0, 320.0),
        # Kendall counts no inversion inside a tie: without ties the count is exact
        lambda level: RankingPerturbation(
            "adjacent-inversions", level, permutations.inverted, unties=True
        ),
        brings=False,
        reach=feasibility.pairs,
        whole=True,
    ),
    PerturbationEntry(
        "shuffle",
        "A share of the places, drawn at random, exchange their documents at random.",
        "an even draw of all orders at level 1",
        "share of the places",
        0.0,
        1.0,
        SHARES,
        lambda level: RankingPerturbation("shuffle", level, permutations.shuffled),
        brings=False,
        reach=any_level,
    ),
    PerturbationEntry(
        "reverse",
        "A share of the places, drawn at random, hold their documents in reverse order.",
        "the ranking turned upside down at level 1",
        "share of the places",
        0.0,
        1.0,
        SHARES,
        lambda level: RankingPerturbation("reverse", level, permutations.turned),
        brings=False,
        reach=any_level,
    ),
    PerturbationEntry(
        "mallows",
        "An order drawn from Mallows' model around the ranking, at an expected Kendall τ.",
        "Mallows (1957); drawn by repeated insertion (Doignon et al. 2004)",
        "expected Kendall τ",
        -1.0,
        1.0,
        (1.0, 0.95, 0.9, 0.8, 0.6, 0.4, 0.2, 0.0),
        lambda level: RankingPerturbation("mallows", level, permutations.mallows, unchanged=1.0),
        brings=False,
        reach=any_level,
        unchanged=1.0,
    ),
    PerturbationEntry(
        "score-noise",
        "The order of the prior scores plus Gaussian noise.",
        "noise in units of the list's own standard deviation of prior scores",
        "standard deviations",
        0.0,
        INFINITE,
        (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0),
        lambda level: RankingPerturbation("score-noise", level, permutations.noisy),
        brings=False,
        reach=any_level,
    ),
    PerturbationEntry(
        "plackett-luce",
        "An order drawn from the Plackett–Luce model of the prior scores at a temperature.",
        "Plackett (1975), Luce (1959); drawn with Gumbel noise (Yellott 1977)",
        "temperature in standard deviations of the list's prior scores",
        0.0,
        INFINITE,
        (0.0, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0),
        lambda level: RankingPerturbation(
            "plackett-luce", level, permutations_of_parts.plackett_luce
        ),
        brings=False,
        reach=any_level,
    ),
    _exchanges(
        "top-swaps",
        permutations_of_parts.top_transposed,
        "Random pairs among the first ten places exchange their documents.",
        "transpositions where NDCG@10 counts",
        any_level,
    ),
    _exchanges(
        "tail-swaps",
        permutations_of_parts.tail_transposed,
        "Random pairs below the tenth place exchange their documents.",
        "transpositions where NDCG@10 does not count",
        feasibility.tail_exchanges,
    ),
    _by_judgments(
        "reversed-pairs",
        permutations_by_label.pairs_reversed,
        "Relevant documents exchange their places with non-relevant ones below them.",
        "random swaps per list",
        (0.0, 1.0, 2.0, 5.0, 10.0, 20.0),
        feasibility.reversals,
    ),
    _by_judgments(
        "promote",
        permutations_by_label.promoted,
        "A non-relevant document from further down is put at this rank.",
        "rank, the best is 1 (0: none is promoted)",
        (0.0, 1.0, 2.0, 3.0, 5.0, 10.0),
        feasibility.promotions,
    ),
    _by_judgments(
        "demote-best",
        permutations_by_label.demoted,
        "The most relevant document falls by this number of places.",
        "places",
        (0.0, 1.0, 2.0, 5.0, 10.0, 20.0),
        feasibility.falls,
    ),
    PerturbationEntry(
        "tie-storm",
        "A run of places, drawn at random, takes one prior score and shares one rank.",
        "initial rankers with coarse scores",
        "share of the places",
        0.0,
        1.0,
        (0.0, 0.1, 0.2, 0.4, 0.6, 0.8),
        TieStorm,
        brings=False,
        reach=any_level,
    ),
)

PRESENTATION = (
    PerturbationEntry(
        "shuffle-shown",
        "A share of the positions shown exchange their documents; prior ranks stay.",
        INVARIANCE,
        "share of the positions",
        0.0,
        1.0,
        (1.0,),
        lambda level: PresentationPerturbation("shuffle-shown", level, permutations.shuffled),
        brings=False,
        reach=any_level,
    ),
    PerturbationEntry(
        "reverse-shown",
        "A share of the positions shown hold their documents in reverse order; prior ranks stay.",
        INVARIANCE,
        "share of the positions",
        0.0,
        1.0,
        (1.0,),
        lambda level: PresentationPerturbation("reverse-shown", level, permutations.turned),
        brings=False,
        reach=any_level,
    ),
    PerturbationEntry(
        "blocks-shown",
        "The list is cut into equal blocks that are shown in a random order; prior ranks stay.",
        INVARIANCE,
        "blocks per list",
        1.0,
        INFINITE,
        (1.0, 2.0, 4.0, 8.0),
        lambda level: PresentationPerturbation(
            "blocks-shown", level, permutations_of_parts.blocks_shuffled, unchanged=1.0
        ),
        brings=False,
        reach=feasibility.documents,
        unchanged=1.0,
        whole=True,
    ),
    PerturbationEntry(
        "rotate-shown",
        "The first documents shown come last; prior ranks stay.",
        INVARIANCE,
        "documents",
        0.0,
        INFINITE,
        (0.0, 1.0, 5.0, 20.0),
        lambda level: PresentationPerturbation(
            "rotate-shown", level, permutations_of_parts.rotated
        ),
        brings=False,
        reach=any_level,
        whole=True,
        random=False,
    ),
    PerturbationEntry(
        "label-shown",
        "The documents are shown by relevance: a ranker that gains by it reads the order.",
        "leak probe",
        "1: the most relevant first, −1: last",
        -1.0,
        1.0,
        (0.0, -1.0, 1.0),
        lambda level: SortedPresentation("label-shown", level, ranking.label_keys),
        brings=False,
        reach=any_level,
        whole=True,
        random=False,
    ),
    PerturbationEntry(
        "id-shown",
        "The documents are shown in the order of their ids, or of their rows where they have none.",
        "collections are often filed in an order that leaks",
        "1: rising ids, −1: falling ones",
        -1.0,
        1.0,
        (0.0, 1.0),
        lambda level: SortedPresentation("id-shown", level, ranking.id_keys),
        brings=False,
        reach=any_level,
        whole=True,
        random=False,
    ),
)

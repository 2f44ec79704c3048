"""The families that change the set of documents, their features, or the labels learnt from."""

from shuffleproof.core.perturb import feasibility, features, growth, labels, sets
from shuffleproof.core.perturb.entry import INFINITE, PerturbationEntry
from shuffleproof.core.perturb.feasibility import Reach, any_level
from shuffleproof.core.perturb.features import Alteration, FeaturePerturbation, SignAttack
from shuffleproof.core.perturb.growth import GrowthPerturbation, Source
from shuffleproof.core.perturb.labels import LabelPerturbation, Relabelling
from shuffleproof.core.perturb.sets import Selection, SetPerturbation

LOST = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8)
DOCUMENTS = (0.0, 1.0, 5.0, 20.0)
COLUMNS = (0.0, 1.0, 2.0, 4.0)


def _lost_candidates(family: str, select: Selection, summary: str) -> PerturbationEntry:
    return PerturbationEntry(
        family,
        summary,
        "candidates that the first stage missed",
        "share of the documents",
        0.0,
        1.0,
        LOST,
        lambda level: SetPerturbation(family, level, select),
        brings=False,
        reach=any_level,
        random=family != "cut",
    )


def _growth(
    family: str, source: Source, summary: str, origin: str, reach: Reach
) -> PerturbationEntry:
    return PerturbationEntry(
        family,
        summary,
        origin,
        "documents per list",
        0.0,
        INFINITE,
        DOCUMENTS,
        lambda level: GrowthPerturbation(family, level, source),
        brings=True,
        reach=reach,
        whole=True,
    )


def _cell_noise(
    family: str, alter: Alteration, summary: str, unit: str, levels: tuple[float, ...]
) -> PerturbationEntry:
    return PerturbationEntry(
        family,
        summary,
        "measurement noise and coarse logging",
        unit,
        0.0,
        0.5 if family == "feature-clipped" else INFINITE,
        levels,
        lambda level: FeaturePerturbation(family, level, alter),
        brings=False,
        reach=any_level,
        random=family not in {"feature-clipped", "feature-quantised"},
    )


def _missing_cells(family: str, alter: Alteration, summary: str) -> PerturbationEntry:
    return PerturbationEntry(
        family,
        summary,
        "features that a pipeline failed to deliver",
        "share of the cells",
        0.0,
        1.0,
        LOST,
        lambda level: FeaturePerturbation(family, level, alter),
        brings=False,
        reach=any_level,
    )


def _column_change(family: str, alter: Alteration, summary: str, source: str) -> PerturbationEntry:
    return PerturbationEntry(
        family,
        summary,
        source,
        "features",
        0.0,
        INFINITE,
        COLUMNS,
        lambda level: FeaturePerturbation(family, level, alter),
        brings=False,
        reach=feasibility.columns,
        whole=True,
    )


def _label_change(
    family: str, relabel: Relabelling, summary: str, source: str
) -> PerturbationEntry:
    clicks = family.startswith("clicks")
    return PerturbationEntry(
        family,
        summary,
        source,
        "sessions a query (0: the judgments)" if clicks else "share of the labels",
        0.0,
        INFINITE if clicks else 1.0,
        (0.0, 1.0, 10.0, 100.0) if clicks else (0.0, 0.1, 0.2, 0.4),
        lambda level: LabelPerturbation(family, level, relabel),
        brings=False,
        reach=any_level,
        whole=clicks,
    )


SET = (
    _lost_candidates("cut", sets.cut, "The end of the list, by the initial ranking, is cut off."),
    _lost_candidates("sample", sets.sampled, "Documents drawn at random leave the list."),
    PerturbationEntry(
        "remove-top",
        "The first documents of the initial ranking leave the list; the rest should keep order.",
        "independence of irrelevant alternatives",
        "documents",
        0.0,
        INFINITE,
        (0.0, 1.0, 2.0, 5.0),
        lambda level: SetPerturbation("remove-top", level, sets.without_top),
        brings=False,
        reach=feasibility.all_but_one,
        whole=True,
        random=False,
    ),
    PerturbationEntry(
        "singleton",
        "One document, drawn at random, is all that is left of the list.",
        "the smallest set",
        "1: one document is left",
        0.0,
        1.0,
        (0.0, 1.0),
        lambda level: SetPerturbation("singleton", level, sets.single),
        brings=False,
        reach=any_level,
        whole=True,
    ),
    _growth(
        "distractors",
        growth.random_distractors,
        "Documents of other queries, drawn at random, join the list as not relevant.",
        "candidates that a first stage let through",
        feasibility.foreign_documents,
    ),
    _growth(
        "hard-distractors",
        growth.hard_distractors,
        "Documents of other queries that look like the first of the list join it as not relevant.",
        "candidates that a first stage let through",
        feasibility.foreign_documents,
    ),
    _growth(
        "duplicates",
        growth.duplicates,
        "Random documents of the list appear twice.",
        "mirrors and syndicated texts",
        feasibility.documents,
    ),
    _growth(
        "near-duplicates",
        growth.near_duplicates,
        "Random documents appear twice, with features that differ by 1 %.",
        "mirrors and syndicated texts",
        feasibility.documents,
    ),
)

FEATURES = (
    _cell_noise(
        "feature-noise",
        features.gaussian,
        "Gaussian noise is added to every feature.",
        "standard deviations of the column",
        (0.0, 0.05, 0.1, 0.25, 0.5, 1.0),
    ),
    _cell_noise(
        "feature-scale",
        features.multiplicative,
        "Every feature is multiplied by 1 plus Gaussian noise.",
        "standard deviation of the factor",
        (0.0, 0.05, 0.1, 0.25, 0.5, 1.0),
    ),
    _cell_noise(
        "feature-quantised",
        features.quantised,
        "Every feature is rounded to steps of its column's standard deviation.",
        "step in standard deviations of the column",
        (0.0, 0.1, 0.25, 0.5, 1.0, 2.0),
    ),
    _cell_noise(
        "feature-clipped",
        features.clipped,
        "Every feature is held between two quantiles of its column.",
        "share cut at each end",
        (0.0, 0.01, 0.05, 0.1, 0.25, 0.5),
    ),
    _missing_cells(
        "missing-mean",
        features.missing_as_mean,
        "Cells drawn at random become their column's mean.",
    ),
    _missing_cells("missing-zero", features.missing_as_zero, "Cells drawn at random become 0."),
    _column_change(
        "group-out",
        features.group_out,
        "A group of features, drawn at random, becomes its mean everywhere.",
        "an outage of one source of features",
    ),
    _column_change(
        "unit-error",
        features.unit_error,
        "A group of features, drawn at random, is multiplied by 1000.",
        "an unannounced change of unit",
    ),
    _column_change(
        "column-shuffled",
        features.columns_shuffled,
        "A group of features, drawn at random, is permuted over all candidates.",
        "permutation importance (Breiman 2001)",
    ),
    PerturbationEntry(
        "gradient-sign",
        "Every feature moves in the direction that raises a network's loss; others are hit too.",
        "Goodfellow, Shlens & Szegedy (2015); written gradient-sign@RANKER",
        "standard deviations of the column",
        0.0,
        INFINITE,
        (0.0, 0.01, 0.05, 0.1, 0.25, 0.5),
        SignAttack,
        brings=False,
        reach=any_level,
        random=False,
    ),
)

LABELS = (
    _label_change(
        "label-flips",
        labels.neighbours_confused,
        "Training labels flip to a neighbouring grade, or by a matrix: @0.9_0.1/0.2_0.8.",
        "assessors' disagreement",
    ),
    _label_change(
        "label-noise",
        labels.uniform_noise,
        "A share of the training labels is redrawn evenly from the grades.",
        "uniform label noise (Angluin & Laird 1988)",
    ),
    _label_change(
        "label-censored",
        labels.censored,
        "A share of the relevant training documents counts as not relevant.",
        "incomplete judgments (Buckley & Voorhees 2004)",
    ),
    _label_change(
        "clicks-position",
        labels.position_clicks,
        "Training labels are grades made from clicks under the position-based model.",
        "Craswell et al. (2008), Chuklin et al. (2015); examination 1/rank",
    ),
    _label_change(
        "clicks-cascade",
        labels.cascade_clicks,
        "Training labels are grades made from clicks under the cascade model.",
        "Craswell et al. (2008)",
    ),
)

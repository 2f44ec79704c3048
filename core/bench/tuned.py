"""Bench job `tuned`: the choice of the preset `tuned`, with one data set left out at a time.

Each setting of `SETTINGS` is compared with `paper` on the development queries (training and
validation) of every data set, which are split five ways: each part is ranked by what was trained on
three others and selected on the fifth. For each data set in turn, the setting that gains most on
the other sets is measured on the set left out: only that says what a user's own data may see.
Where the setting loses there, `tuned` is `paper`. The test queries are ranked once, by the preset.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from shuffleproof.core.bench.result import BenchRow
from shuffleproof.core.data import catalogue
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.letor import read as letor
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.metrics.significance import t_interval
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Ranker, RankerSpec
from shuffleproof.core.rankers.initial import part_of_query
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import default_store

MEASURES = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")
_LINEAR = [
    {"cost": cost, "normalisation": normalisation}
    for cost in (0.002, 0.02, 0.2)
    for normalisation in ("quantile", "z-score")
]
_BOOSTED = [
    {"rounds": rounds, "bins": bins, "pair_weights": "queries", "learning_rate": 0.3}
    for rounds, bins in ((150, 8), (150, 32), (300, 32), (300, 256))
]
SETTINGS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "ranksvm": _LINEAR, "irsvm": _LINEAR, "rankboost": _BOOSTED, "frank-additive": _BOOSTED,
}  # fmt: skip
"""The settings among which `tuned` is chosen, as changes of `paper`."""

RANKERS = (*SETTINGS, "lambdamart", "mart", "listnet")
QUICK = (("ranksvm",), ("sample", "lightgbm"))
PARTS = 5
LEAST, ENOUGH = 0.97, 100
"""The floor of a ratio to `paper`, and the queries from which on a set has one: on fewer, chance
alone passes any floor that says something."""

Values = Float64[np.ndarray, "measures queries"]


def tuned(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (the jobs' common signature)
    """NDCG against `paper` by ranker, set and cut-off."""
    rankers, wanted = QUICK if quick else (RANKERS, (SAMPLE, *SETS))
    known = (SAMPLE, *sets_in())
    sets = {name: open_fold(name) for name in wanted if name in known}
    if len(sets) < 2:
        absent = f"no real data in {DATA.name} beside the project: nothing is compared"
        return [BenchRow("tuned", None, None, "paper", None, None, note=absent)]
    return [row for ranker in rankers for row in rows_of(ranker, sets)]


def rows_of(ranker: str, sets: Mapping[str, Fold]) -> Iterator[BenchRow]:
    """The rows of one ranker: each set left out of the choice, then the test queries."""
    claimed = registry.spec(ranker, "tuned") != registry.spec(ranker)
    if ranker in SETTINGS and len(sets) > 1:
        for row in left_out_rows(ranker, sets):
            yield row if claimed else replace(row, floor=None)
    if not claimed:
        return
    for name, fold in sets.items():
        ours, theirs = (test_values(registry.spec(ranker, of), fold) for of in ("tuned", "paper"))
        for measure, *both in zip(MEASURES, ours, theirs, strict=True):
            yield comparison_row(f"{ranker} {name} test {measure}", *both)


def left_out_rows(ranker: str, sets: Mapping[str, Fold]) -> Iterator[BenchRow]:
    """On each set, the setting that was chosen on all the other sets."""
    paper = {name: held_out(registry.spec(ranker), fold) for name, fold in sets.items()}
    values = [
        {name: held_out(registry.spec(ranker, **setting), fold) for name, fold in sets.items()}
        for setting in SETTINGS[ranker]
    ]
    for name in sets:
        best = best_setting([{other: of[other] - paper[other] for other in sets if other != name}
                       for of in values])  # fmt: skip
        ours = paper[name] if best is None else values[best][name]
        setting = "paper" if best is None else str(dict(SETTINGS[ranker][best]))
        for measure, *both in zip(MEASURES, ours, paper[name], strict=True):
            row = comparison_row(f"{ranker} {name} left out {measure}", *both)
            yield replace(row, note=f"{row.note}; chosen on the others: {setting}")


def best_setting(gains: Sequence[Mapping[str, Values]]) -> int | None:
    """The setting with the largest mean gain over all queries and measures; None: none gains.

    >>> best_setting([{"a": np.full((1, 2), -0.1)}, {"a": np.full((1, 2), 0.2)}])
    1
    >>> best_setting([{"a": np.full((1, 2), -0.1)}])
    """
    means = [float(np.concatenate([*of.values()], axis=1).mean()) for of in gains]
    best = int(np.argmax(means))
    return best if means[best] > 0 else None


def comparison_row(
    what: str, ours: Float64[np.ndarray, " queries"], theirs: Float64[np.ndarray, " queries"]
) -> BenchRow:
    """The row of two means over the same queries; its floor is LEAST from ENOUGH queries on.

    >>> better, worse = np.array([0.5, 0.7, 0.9]), np.array([0.4, 0.7, 0.7])
    >>> row = comparison_row("x", better, worse)
    >>> row.note
    '3 queries, difference +0.100 (95 % -0.148 to +0.348)'
    >>> row.floor, comparison_row("x", np.ones(100), np.ones(100)).floor
    (None, 0.97)
    """
    low, high = t_interval(ours - theirs)
    mean, other = float(ours.mean()), float(theirs.mean())
    note = f"{len(ours)} queries, difference {mean - other:+.3f} (95 % {low:+.3f} to {high:+.3f})"
    ratio = mean / other if other > 0 else None
    floor = LEAST if len(ours) >= ENOUGH else None
    return BenchRow(f"tuned {what}", mean, other, "paper", ratio, floor, note=note)


def held_out(spec: RankerSpec, fold: Fold) -> Values:
    """The measures of every development query, ranked by what did not see it."""
    whole = development(fold)
    parts = part_of_query(whole.query_ids, PARTS, 0)
    values = np.empty((len(MEASURES), whole.queries))
    for part in range(PARTS):
        held, chosen = parts == part, parts == (part + 1) % PARTS
        learnt, selected, test = (
            whole.select(np.flatnonzero(which)) for which in (~(held | chosen), chosen, held)
        )
        values[:, held] = values_of(_fitted(spec, learnt, selected), test)
    return values


def test_values(spec: RankerSpec, fold: Fold) -> Values:
    """The measures of every test query."""
    return values_of(_fitted(spec, fold.train, fold.valid), fold.test)


def values_of(ranker: Ranker, dataset: RankingDataset) -> Values:
    """The measures of every query of a set."""
    whole = _whole(dataset)
    measures = [Measure.parse(text) for text in MEASURES]
    values = evaluate(measures, dataset, whole.lists, ranker.score(dataset, whole.lists))
    return np.asarray(values, dtype=np.float64)


def _fitted(spec: RankerSpec, train: RankingDataset, valid: RankingDataset) -> Ranker:
    return run_to_end(spec.fit(_whole(train), _whole(valid)))


def _whole(dataset: RankingDataset) -> JudgedLists:
    return JudgedLists(dataset, CandidateLists.all_documents(dataset))


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"tuned": tuned}


DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
VALIDATION = 0.2
"""Share of the development queries that a set without a validation part gives to one."""


@dataclass(frozen=True)
class RealFiles:
    """Where a set's files are, under the folder of real data.

    Attributes:
        train: files whose queries are learnt from.
        valid: files of the validation part; none: a share of the training queries.
        test: files of the test part; none: a share of the training queries.
        groups: whether the rows carry no query id and a `.query` file counts them.
    """

    train: tuple[str, ...]
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    groups: bool = False


SETS: dict[str, RealFiles] = {
    "mq2008": RealFiles(
        ("mq2008/S1.txt.gz", "mq2008/S2.txt.gz"), ("mq2008/S3.txt.gz",), ("mq2008/S4.txt.gz",)
    ),
    "clueweb09": RealFiles(
        ("clueweb09_webis/Fold1.test.txt.gz",),
        ("clueweb09_webis/Fold2.test.txt.gz",),
        ("clueweb09_webis/Fold3.test.txt.gz",),
    ),
    "lightgbm": RealFiles(
        ("lightgbm_rank/rank.train.gz",), test=("lightgbm_rank/rank.test.gz",), groups=True
    ),
    "mslr-sample": RealFiles(("mslr_web30k_sample/fold1_test_sample.txt.gz",)),
}


def sets_in(folder: Path = DATA) -> list[str]:
    """The sets whose files are all in the folder."""
    return [
        name
        for name, files in SETS.items()
        if all((folder / file).is_file() for file in (*files.train, *files.valid, *files.test))
    ]


def open_fold(name: str, folder: Path = DATA) -> Fold:
    """A set's fold; parts that it lacks are cut from its training queries, by chance."""
    if name == SAMPLE:
        return catalogue.resolve(SAMPLE, default_store())
    files = SETS[name]
    train = _read(files.train, folder, groups=files.groups)
    missing = [part for part in ("test", "valid") if not getattr(files, part)]
    cut = {}
    for part in missing:
        order = generator(0, "real set", name, part).permutation(train.queries)
        count = max(1, round(VALIDATION * len(order)))
        cut[part] = train.select(np.sort(order[:count]))
        train = train.select(np.sort(order[count:]))
    for part in {"valid", "test"} - set(missing):
        cut[part] = _read(getattr(files, part), folder, groups=files.groups)
    ids = tuple(sorted(set().union(*(part.feature_ids for part in (train, *cut.values())))))
    return Fold(_widened(train, ids), _widened(cut["valid"], ids), _widened(cut["test"], ids))


def development(fold: Fold) -> RankingDataset:
    """The training and validation queries of a fold as one set."""
    return _joined([fold.train, fold.valid])


def _read(names: tuple[str, ...], folder: Path, *, groups: bool) -> RankingDataset:
    datasets = []
    for name in names:
        path = folder / name
        counted = path.with_name(path.name.replace(".gz", ".query.gz")) if groups else None
        read = letor.read(path, groups=counted).dataset
        if groups:  # queries are numbered in every file
            named = tuple(f"{path.name}:{query}" for query in read.query_ids)
            read = replace(read, query_ids=named, fingerprint="")
        datasets.append(read)
    ids = tuple(sorted(set().union(*(part.feature_ids for part in datasets))))
    return _joined([_widened(part, ids) for part in datasets])


def _widened(part: RankingDataset, ids: tuple[int, ...]) -> RankingDataset:
    """The part with a column for each of these features; 0 where it lacks one."""
    features = np.zeros((part.documents, len(ids)), dtype=np.float32)
    columns: Int64[np.ndarray, " features"] = np.searchsorted(ids, part.feature_ids)
    features[:, columns] = part.features
    return RankingDataset(features, part.labels, part.offsets, part.query_ids, ids)


def _joined(parts: list[RankingDataset]) -> RankingDataset:
    """Sets of the same features, one after the other."""
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    return RankingDataset(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.labels for part in parts]),
        offsets_of(lengths),
        tuple(query for part in parts for query in part.query_ids),
        parts[0].feature_ids,
    )

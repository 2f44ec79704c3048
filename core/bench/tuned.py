"""Bench job `tuned`: the preset `tuned` beside `paper` on real sets, query by query.

This is how `tuned` is chosen and checked. A setting is compared with `paper` on the development
queries alone (training and validation, `real_sets`), which are parted five ways: each part is
ranked by what was trained on three others and selected on the fifth. A setting becomes `tuned` if
the mean over the queries of all sets gains at every cut-off and no set loses more than chance
explains; where none does, `tuned` is `paper`. The test queries are ranked once, by what was chosen.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float64, Int64

from shuffleproof.core.bench.result import BenchRow
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

MEASURES = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")
RANKERS = ("ranksvm", "irsvm", "rankboost", "frank-additive", "lambdamart", "mart", "listnet")
QUICK = (("ranksvm", "rankboost"), ("lightgbm",))
PARTS = 5
TOGETHER = "all sets"

Values = Float64[np.ndarray, "measures queries"]


def tuned(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (the jobs' common signature)
    """NDCG of both presets by ranker, set and cut-off, and over the queries of all sets."""
    rankers, wanted = QUICK if quick else (RANKERS, tuple(SETS))
    sets = {name: open_fold(name) for name in wanted if name in sets_in()}
    if not sets:
        absent = f"no real data in {DATA.name} beside the project: nothing is compared"
        return [BenchRow("tuned", None, None, "paper", None, None, note=absent)]
    return [row for ranker in rankers for row in rows_of(ranker, sets)]


def rows_of(ranker: str, sets: dict[str, Fold]) -> Iterable[BenchRow]:
    """The rows of one ranker: every set's, then those of all queries of all sets."""
    for part, measured in (("held out", held_out), ("test", test_values)):
        values = {
            preset: [measured(registry.spec(ranker, preset), fold) for fold in sets.values()]
            for preset in ("tuned", "paper")
        }
        together = [np.concatenate(each, axis=1) for each in values.values()]
        pairs = zip(values["tuned"], values["paper"], strict=True)
        for name, both in (*zip(sets, pairs, strict=True), (TOGETHER, together)):
            for measure, ours, theirs in zip(MEASURES, *both, strict=True):
                row = comparison_row(f"{ranker} {name} {part} {measure}", ours, theirs)
                gains = name == TOGETHER and measured is held_out
                yield replace(row, floor=1.0) if gains else row


def comparison_row(
    what: str, ours: Float64[np.ndarray, " queries"], theirs: Float64[np.ndarray, " queries"]
) -> BenchRow:
    """The row of two means over the same queries; its floor is what chance explains of a loss.

    >>> better, worse = np.array([0.5, 0.7, 0.9]), np.array([0.4, 0.7, 0.7])
    >>> row = comparison_row("x", better, worse)
    >>> row.note
    '3 queries, difference +0.100 (95 % -0.148 to +0.348)'
    >>> row.ratio > row.floor, comparison_row("x", worse[:1], better[:1]).floor
    (True, None)
    """
    low, high = t_interval(ours - theirs)
    mean, other = float(ours.mean()), float(theirs.mean())
    known = bool(np.isfinite(low)) and other > 0
    floor = 1.0 - (high - low) / 2 / other if known else None
    note = f"{len(ours)} queries, difference {mean - other:+.3f} (95 % {low:+.3f} to {high:+.3f})"
    ratio = mean / other if other > 0 else None
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

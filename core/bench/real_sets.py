"""Public judged sets as a bench job sees them: queries to choose recipes on, and test queries.

The sets are research data that the project does not ship; they are read from `shared/data` beside
the project, and a job that finds none says so. A recipe is chosen on the development queries
alone; the test queries are looked at once it is chosen.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.letor import read as letor
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.seeds import generator

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


def there(folder: Path = DATA) -> list[str]:
    """The sets whose files are all in the folder."""
    return [
        name
        for name, files in SETS.items()
        if all((folder / file).is_file() for file in (*files.train, *files.valid, *files.test))
    ]


def opened(name: str, folder: Path = DATA) -> Fold:
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
    found = []
    for name in names:
        path = folder / name
        counted = path.with_name(path.name.replace(".gz", ".query.gz")) if groups else None
        read = letor.read(path, groups=counted).dataset
        if groups:  # queries are numbered in every file
            named = tuple(f"{path.name}:{query}" for query in read.query_ids)
            read = replace(read, query_ids=named, fingerprint="")
        found.append(read)
    ids = tuple(sorted(set().union(*(part.feature_ids for part in found))))
    return _joined([_widened(part, ids) for part in found])


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

"""Damaged files of every kind but LETOR text and archives, each through the reader that takes it.

`python -m tests.soak.fuzz_files 500 --seed 7`; the test suite runs a slice. A sound file must give
what it holds; any other is read, or refused in a sentence.
"""

import io
import json
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd

from shuffleproof.core.aggregate.reading import PreferenceFormat
from shuffleproof.core.aggregate.reading import read as read_preferences
from shuffleproof.core.data import display_texts, trec
from shuffleproof.core.data.letor.read import check_start
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.outside import file_ranker
from shuffleproof.core.rankers.outside.file_ranker import FileScores
from shuffleproof.core.retrieval import collection
from shuffleproof.core.retrieval.ingest import ingest
from shuffleproof.core.store.artefacts import Store
from tests import loading
from tests.soak import fuzzing
from tests.soak.fuzzing import UnclearError, WrongError
from tests.synthetic import planted

PLACE = "SHUFFLEPROOF_FUZZED_MODELS"
BOUNDS = fuzzing.Bounds(seconds=8.0, patience=300.0)
"""Seconds include those of the guarded processes."""

TOKENS = (
    b"1_0", b"\xd9\xa3", b"nan", b"NULL", b"inf", b"1e400", b"9" * 400, b"9" * 5000, b"0x1", b"-1",
    b"\r", b"\n", b"\t", b" ", b",", b";", b'"', b"\0" * 8, b"\xff" * 4, b"\xc2\xa0", b"\x1b[2J",
    b"16777217", b"\xef\xbb\xbf", b"[" * 100_000, b'{"a":' * 3000, b'"\\ud800"', b"null", b"true",
    b"PAR1", b"ARROW1", b"[[A]]", b"tie",
    b"<DOC>", b"</DOC>", b"<num>" * 9000, b".I\n", b".W x", b"&#" + b"9" * 5000 + b";", b"=",
    b"Tree=0\n", b"num_leaves=99999\n",
)  # fmt: skip
VALUES = (
    None, ["d"], [1, 2], [[1], [2]], {"a": 1}, [1.0] * 300_000, True, 10**400, "9" * 5000, 2**63,
    float("nan"), float("inf"), 1e308, -1, 2, "", " ", "[[C]]", "\ud800", "x" * 100_000, "a\nb",
)  # fmt: skip
ROWS = 24
DOCUMENTS = pd.DataFrame(
    {
        "query": np.repeat([f"q{at}" for at in range(6)], 4),
        "docid": [f"d{at}" for at in range(ROWS)],
        "label": np.arange(ROWS) % 3,
        "bm25": np.arange(ROWS) / 8,
    }
)
TITLES = DOCUMENTS[["docid"]].assign(title=[f"about {at}" for at in range(ROWS)])
PAIRS = pd.DataFrame(
    [("q", "x", "y", 0.25), ("q", "x", "z", 1.0), ("q", "y", "z", 0.5)],
    columns=["question_id", "model_a", "model_b", "winner"],
)
DATA = planted(queries=(20, 2, 4), seed=1, documents=8)

Files = Mapping[str, bytes]


def table(frame: pd.DataFrame, ending: str) -> Files:
    """A frame as a file."""
    out = io.BytesIO()
    match ending:
        case "csv":
            frame.to_csv(out, index=False)
        case "jsonl":
            frame.to_json(out, orient="records", lines=True)
        case "parquet":
            frame.to_parquet(out, row_group_size=3)
        case _:
            frame.to_feather(out)
    return {f"a.{ending}": out.getvalue()}


def matrix() -> Files:
    """A matrix as NumPy stores it."""
    out = io.BytesIO()
    np.save(out, np.array([[0, 0.25, 1], [0.75, 0, 0.5], [0, 0.5, 0]]))
    return {"a.npy": out.getvalue()}


@lru_cache(maxsize=2)
def model(kind: str) -> Files:
    """A model that `prepared` fitted."""
    return {"model.json": (Path(os.environ[PLACE]) / kind).read_bytes()}


def prepared(folder: Path) -> None:
    """Fit one model of each library, once for all processes."""
    features, labels = np.array(DATA.train.features), np.array(DATA.train.labels)
    lightgbm, xgboost = import_module("lightgbm"), import_module("xgboost")
    given = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 2}
    found = lightgbm.train(given, lightgbm.Dataset(features, labels), 4)
    (folder / "lightgbm").write_text(found.model_to_string())
    booster = xgboost.train({"nthread": 1}, xgboost.DMatrix(features, labels), 4)
    booster.save_model(folder / "model.json")
    (folder / "model.json").rename(folder / "xgboost")
    os.environ[PLACE] = str(folder)


def documents(path: Path) -> bool:
    """Whether a table of documents has the features that are due."""
    check_start(path, path.name, "error", with_query=True)
    (loaded,) = loading.load(path)
    parts = (loaded.fold.train, loaded.fold.valid, loaded.fold.test)
    read = sorted(value for part in parts for value in part.features[:, 0].tolist())
    return read == DOCUMENTS["bm25"].tolist()


def preferences(path: Path) -> bool:
    """Whether preferences of three items are those that are due."""
    found = read_preferences([path], PreferenceFormat(direction="small", nulls="last"))
    return found.pairs(0).values[np.triu_indices(3, 1)].tolist() == [0.25, 1.0, 0.5]


def rankings(path: Path) -> bool:
    """Whether rankings of two items are read."""
    reading = PreferenceFormat("rankings", direction="small", nulls="last")
    return read_preferences([path], reading).items == (("x", "y"),)


def texts(folder: Path) -> bool:
    """Whether a collection has the texts and judgments that are due."""
    made = run_to_end(ingest(folder, None, Store(folder.with_name("store"))))
    found = collection.open_(made.path)
    return [text.strip() for text in found.texts] == ["green"] and len(found.judged) == 1


def scored(kind: str) -> Callable[[Path], bool]:
    """Whether a model gives a finite score for every document."""

    def read(path: Path) -> bool:
        lists = CandidateLists.all_documents(DATA.test)
        scores = file_ranker.file_ranker(kind, str(path), DATA.test).score(DATA.test, lists)
        if scores.shape != (DATA.test.documents,) or not np.isfinite(scores).all():
            raise WrongError(f"{kind}: no finite score for every document")
        return True

    return read


SCORES = [place * 1e-30 for place in range(DATA.test.documents)]
RUN = b"1 Q0 a 1 9007199254740992 t\n1 Q0 b 2 5e-320 t\n2 Q0 a 1 -3 t\n"
BEIR = {
    "corpus.jsonl": b'{"_id": "1", "title": "", "text": "green"}\n',
    "queries.jsonl": b'{"_id": "1", "text": "what"}\n',
    "qrels/test.tsv": b"query-id\tcorpus-id\tscore\n1\t1\t1\n",
}
TREC = {
    "docs.trec": b"<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>\ngreen\n</TEXT>\n</DOC>\n",
    "topics.txt": b"<top>\n<num> Number: 1\n<title> what\n</top>\n",
    "qrels.txt": b"1 0 1 1\n",
}
SMART = {"c.all": b".I 1\n.W\ngreen\n", "c.qry": b".I 1\n.W\nwhat\n", "c.rel": b"1 0 1 1\n"}
DOORS: Mapping[str, tuple[Callable[[], Files], Callable[[Path], bool]]] = {
    "run": (
        lambda: {"a.run": RUN},
        lambda path: trec.read_run(path).scores
        == {"1": {"a": 2.0**53, "b": 5e-320}, "2": {"a": -3.0}},
    ),
    "qrels": (
        lambda: {"a.qrels": b"1 0 a 2\n1 0 b -1\n2 0 a 1.0\n"},
        lambda path: trec.read_qrels(path) == {"1": {"a": 2, "b": -1}, "2": {"a": 1}},
    ),
    "scores": (
        lambda: {"scores.txt": "\n".join(map(repr, SCORES)).encode()},
        lambda path: np.allclose(FileScores.read(str(path), DATA.test).scores, SCORES),
    ),
    "matrix": (matrix, preferences),
    "ranks": (lambda: {"r.csv": b"query,ranker,item,rank\nq,r,x,1\nq,r,y,2\nq,s,x,\n"}, rankings),
    "sets": (lambda: {"A1.txt": b"1 qid:1 1:1 2:NULL #docid = x\n0 qid:1 1:2 2:1 #docid = y\n"},
             rankings),
    **{f"documents.{ending}": ((lambda e=ending: table(DOCUMENTS, e)), documents)
       for ending in ("csv", "jsonl", "parquet", "arrow")},
    **{f"titles.{ending}": ((lambda e=ending: table(TITLES, e)), lambda path: display_texts
                            .read_side_file(path, "documents").rows["title"].tolist()
                            == TITLES["title"].tolist())
       for ending in ("csv", "jsonl", "parquet", "arrow")},
    **{f"pairs.{ending}": ((lambda e=ending: table(PAIRS, e)), preferences)
       for ending in ("csv", "jsonl", "parquet", "arrow")},
    **{name: ((lambda f=files: f), texts)
       for name, files in (("beir", BEIR), ("trec", TREC), ("smart", SMART))},
    **{kind: ((lambda k=kind: model(k)), scored(kind)) for kind in ("lightgbm", "xgboost")},
}  # fmt: skip


def attempt(generator: np.random.Generator, room: Path) -> None:
    """The files of one door, one of them damaged in three of four cases; see `fuzzing`."""
    sound, read = DOORS[str(generator.choice([*DOORS]))]
    files, whole = dict(sound()), not generator.integers(0, 4)
    if not whole:
        name = str(generator.choice([*files]))
        of_json = ".json" in name and files[name][:1] == b"{" and generator.integers(0, 2)
        spoil = spoilt(files[name], generator) if of_json else None
        files[name] = spoil or fuzzing.damaged(files[name], generator, TOKENS)
        files[name] = fuzzing.packed(files[name], generator)
    folder = room / "given"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
    try:
        right = read(folder if len(files) > 1 else folder / next(iter(files)))
    except ShuffleproofError as error:
        if whole:
            raise WrongError(f"sound files are refused: {error}") from error
        if str(room / "store") in str(error):
            raise UnclearError(f"it names a folder of ours: {error}") from error
        raise
    if whole and not right:
        raise WrongError(f"not what {[*files]} hold")


def spoilt(text: bytes, generator: np.random.Generator) -> bytes:
    """JSON, or lines of it, with another value somewhere."""
    lines = text.splitlines()
    at = int(generator.integers(0, len(lines)))
    place = told = json.loads(lines[at])
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[int(generator.integers(0, len(keys)))]
        if not (isinstance(place[key], dict | list) and place[key]) or not generator.integers(0, 6):
            break
        place = place[key]
    place[key] = VALUES[int(generator.integers(0, len(VALUES)))]
    lines[at] = json.dumps(told).encode()
    return b"\n".join(lines)


if __name__ == "__main__":
    fuzzing.main(attempt, __doc__, 300, warm=2, bounds=BOUNDS, prepared=prepared)

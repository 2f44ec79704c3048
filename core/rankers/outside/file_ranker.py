"""Rankers from outside by a file: scores aligned to rows, or a model of another library.

Foreign model files can abort or hang the process that loads them, so a disposable one does it
(`core.rankers.outside.model_files`). Scores from a file cannot change: whatever would need other
scores (changed features, other documents, another part) is refused in words.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.letor.stream import LONE_RETURN, Limits, lines
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import in_single_precision
from shuffleproof.core.errors import (
    AnswerError,
    ArtefactError,
    DataError,
    FixedScoresError,
    LetorError,
    UnknownNameError,
)
from shuffleproof.core.execution.worker_process import WorkerError, WorkerProcess
from shuffleproof.core.numerals import number
from shuffleproof.core.rankers.base import Input, one_line
from shuffleproof.core.rankers.name import SCORES, RankerName
from shuffleproof.core.rankers.outside.columns import RULES
from shuffleproof.core.rankers.outside.returned import LARGEST, fault_of
from shuffleproof.core.store.keys import file_digest
from shuffleproof.core.words import counted

FAMILY, HEAD, SAVED_SCORES, SAVED_MODEL = "outside", "ranker.json", "scores.npy", "model"
_SCORES = {"kind": SCORES}
ALONE: frozenset[Input] = frozenset({"features"})
SECONDS = 120.0
"""Time limit of an answer. A model that takes longer is stopped."""

AT_ONCE = 200_000
"""Documents of a request, about; a longer list is one request."""

SERVER = "shuffleproof.core.rankers.outside.model_files:ModelServer"
MOST_BYTES = 4 << 30
"""Memory for opening rankers: trees whose branches meet again grow without end when walked."""

DAMAGED = "It may be damaged: save it again with the installed version of the library."
BLANKS = " \t\r"


@dataclass(frozen=True, eq=False)
class FileScores:
    """Scores computed elsewhere, one a row of one part of a data set.

    A file has them in the order of the part's file: line i is row i, also where the rows of a
    query are scattered there.

    Attributes:
        name: `scores:path`, or `scores` where it was stored.
        scores: by row.
        fingerprint: of the part that they belong to.
        source: SHA-256 of the file, and of the order of rows where they were scattered.
    """

    name: str
    scores: Float32[np.ndarray, " docs"]
    fingerprint: str
    source: str
    reads: frozenset[Input] = ALONE
    rankings: int = 0

    __repr__ = one_line

    @classmethod
    def read(cls, file: str, dataset: RankingDataset) -> "FileScores":
        """The scores of a file, plain or compressed: a number a line, in the order of the rows.

        Raises:
            DataError: no file, something that is no finite number, or another number of lines.
        """
        path = Path(file).expanduser()
        source = file_digest(path)
        scores = np.fromiter(_numbers(path), dtype=np.float64)
        if len(scores) != dataset.documents:
            documents = counted(dataset.documents, "document")
            finding = f"{counted(len(scores), 'score')} where the part has {documents}"
            remedy = "Give one score a line, in the order of the rows."
            fault = fault_of((len(scores),), (dataset.documents,))
            raise AnswerError(str(path), finding, remedy, fault)
        if dataset.source_rows is not None:
            # The data set is sorted by query; the file of scores has the order of its source
            scores = scores[dataset.source_rows]
            source = hashlib.sha256(source.encode() + dataset.source_rows.tobytes()).hexdigest()
        single = in_single_precision(dataset.offsets, scores)
        return cls(f"{SCORES}:{file}", single, dataset.fingerprint, source)

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """The scores of the candidates.

        Raises:
            FixedScoresError: documents that it does not score, or features that were changed.
        """
        if dataset.fingerprint != self.fingerprint:
            raise FixedScoresError(RankerName.of(self.name).display)
        return self.scores[lists.rows]

    def save(self, directory: Path) -> None:
        """Write the scores and which part they belong to."""
        np.save(directory / SAVED_SCORES, self.scores)
        _save_head(directory, {"fingerprint": self.fingerprint, "source": self.source} | _SCORES)


@dataclass(frozen=True)
class OutsideModel:
    """A model file of another library, scored in a process of its own, which ends with it.

    Attributes:
        name: `lightgbm:path` or another kind; the kind alone where it was stored, or trained by a
            file of parameters (`lightgbm-config`).
        path: of the file.
        source: SHA-256 of the file.
        columns: the rule by which columns are matched (`columns.RULES`); empty: the only one that
            fits.
        how: how the process read the model when it last scored. It has the rule, columns without a
            feature, rounds that were used, whether absent cells were missing values, and the
            model's own seconds.
    """

    name: str
    path: Path
    source: str
    columns: str = ""
    reads: frozenset[Input] = ALONE
    rankings: int = 0
    how: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _processes: list[WorkerProcess] = field(default_factory=list, repr=False, compare=False)
    _folder: TemporaryDirectory[str] | None = field(default=None, repr=False, compare=False)

    __repr__ = one_line

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Scores by the model, in the order shown.

        Raises:
            DataError: the file is no such model, does not fit the features, crashed or hung.
        """
        # Parts keep a large data set below the limits of time and memory of an answer
        ends = np.flatnonzero(np.diff(np.cumsum(lists.lengths) // AT_ONCE)) + 1
        parts = np.split(np.arange(len(lists)), ends)
        scores, seconds = [], 0.0
        for part in parts:
            scores.append(self._scores(dataset, lists.select(part) if len(ends) else lists))
            seconds += self.how["seconds"]
        self.how["seconds"] = seconds
        return np.concatenate(scores)

    def _scores(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Scores of lists that fit into one request."""
        name = RankerName.of(self.name)
        request = {
            "kind": library_of(name.head),
            "path": str(self.path),
            "features": dataset.features[lists.rows],
            "ids": np.array(dataset.feature_ids, dtype=np.int64),
            "names": list(dataset.names),
            "rule": self.columns,
            "missing": dataset.missing,
            "lengths": np.array(lists.lengths),
        }
        if (absent := dataset.absent_cells(lists.rows)) is not None:
            request["absent"] = absent
        if self._processes and not self._processes[0].alive:
            self._processes.pop().close()
        if not self._processes:
            self._processes.append(WorkerProcess(SERVER, SECONDS, quiet=True))
        try:
            answer = self._processes[0].ask("score", **request)
        except WorkerError as error:
            raise DataError(name.display, finding_of(error), error.remedy or DAMAGED) from error
        scores: np.ndarray = answer["scores"]
        self.how.update(answer["how"])
        if not np.isfinite(scores).all():
            finding = f"it answered {scores[~np.isfinite(scores)][0]} for a document"
            remedy = "One finite score a document is due."
            raise AnswerError(name.display, finding, remedy, "not-finite")
        return scores

    def column_rule(self, base: JudgedLists) -> str:
        """The rule by which its columns are matched, in words; it scores a list if need be."""
        if not self.how:
            self.score(base.dataset, base.lists.select(np.arange(1)))
        return f"columns by rule {self.how['columns']}: {RULES[self.how['columns']]}"

    def save(self, directory: Path) -> None:
        """Copy the model file, and write the rule by which its columns are matched."""
        shutil.copyfile(self.path, directory / SAVED_MODEL)
        head = {"kind": RankerName.of(self.name).head, "source": self.source}
        rule = self.columns or self.how.get("columns", "")
        _save_head(directory, head | {"columns": rule})


def library_of(head: str) -> str:
    """The kind of the model files of a ranker, by what its name begins with.

    >>> library_of("lightgbm-config"), library_of("onnx")
    ('lightgbm', 'onnx')
    """
    return head.removesuffix("-config")


def check_opens(directories: Sequence[Path]) -> str:
    """Open saved rankers in a process of its own, their trees walked; why not, empty if it can.

    Args:
        directories: written by `save` of any ranker, or forged.
    """
    worker = WorkerProcess(SERVER, SECONDS, memory=MOST_BYTES, quiet=True)
    try:
        worker.ask("open_rankers", directories=[*map(str, directories)])
    except WorkerError as error:
        return finding_of(error).replace(f"{directories[0].parent}/", "")
    finally:
        worker.close()
    return ""


def finding_of(error: WorkerError) -> str:
    """Why a process did not answer about a file."""
    cause = ", as where memory runs out" if error.signal == "SIGKILL" else ""
    if error.signal:
        return f"it crashed the library that reads it ({error.signal}{cause})"
    return error.finding


def file_ranker(
    kind: str, file: str, dataset: RankingDataset, columns: str = ""
) -> FileScores | OutsideModel:
    """The ranker of a file.

    Args:
        kind: one of `name.FILES`.
        file: its path.
        dataset: the part that scores of a file belong to.
        columns: of a model: how its columns are matched (`columns.RULES`).

    Raises:
        UnknownNameError: no such rule.
        DataError: no such file.
    """
    if columns and columns not in RULES:
        raise UnknownNameError("rule for columns", columns, RULES)
    if kind == SCORES:
        return FileScores.read(file, dataset)
    path = Path(file).expanduser()
    return OutsideModel(f"{kind}:{file}", path.resolve(), file_digest(path), columns)


def load(directory: Path) -> FileScores | OutsideModel:
    """Ranker that `save` wrote; its name is its kind."""
    head = json.loads((directory / HEAD).read_text(encoding="utf-8"))
    if head["kind"] == SCORES:
        scores = np.load(directory / SAVED_SCORES, allow_pickle=False)
        return FileScores(SCORES, scores, head["fingerprint"], head["source"])
    if "columns" not in head:
        finding = "an earlier version brought this model, and read its columns otherwise"
        raise ArtefactError(directory.name, finding, "Bring its file again.")
    return OutsideModel(head["kind"], directory / SAVED_MODEL, head["source"], head["columns"])


def _save_head(directory: Path, facts: dict[str, str]) -> None:
    text = json.dumps({"family": FAMILY, **facts}, indent=1)
    (directory / HEAD).write_text(text, encoding="utf-8")


def _numbers(path: Path) -> Iterator[float]:
    """The number on every line that is not blank."""
    for place, line in lines(path, str(path), Limits()):
        text = line.decode(errors="backslashreplace").strip(BLANKS)
        if text:
            yield _score(path, place, text)


def _score(path: Path, place: int, line: str) -> float:
    if "\r" in line:
        raise LetorError(path, place, line, *LONE_RETURN)
    try:
        value = number(line)
    except ValueError as error:
        remedy = "Give one decimal number a line, like 0.25 or -1e-3."
        raise LetorError(path, place, line, "no score", remedy) from error
    if abs(value) > LARGEST:
        remedy = "Scale the scores: rankers answer in single precision, up to 3.4e38."
        raise LetorError(path, place, line, "a score beyond single precision", remedy)
    return value

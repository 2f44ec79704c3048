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
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.letor.stream import LONE_RETURN, Limits, lines
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import (
    AnswerError,
    ArtefactError,
    DataError,
    FixedScoresError,
    LetorError,
    UnknownNameError,
    no_file,
)
from shuffleproof.core.execution.worker_process import DIED, LATE, SAID, WorkerError, WorkerProcess
from shuffleproof.core.numerals import number
from shuffleproof.core.rankers.base import Input, one_line
from shuffleproof.core.rankers.name import SCORES, RankerName
from shuffleproof.core.rankers.outside.columns import NAMES, RULES
from shuffleproof.core.rankers.outside.model_files import LIBRARIES
from shuffleproof.core.rankers.outside.returned import LARGEST
from shuffleproof.core.words import counted

FAMILY, HEAD, SAVED_SCORES, SAVED_MODEL = "outside", "ranker.json", "scores.npy", "model"
_SCORES = {"kind": SCORES}
ALONE: frozenset[Input] = frozenset({"features"})
SECONDS = 120.0
"""Time limit of an answer. A model that takes longer is stopped."""

AT_ONCE = 200_000
"""Largest part, in documents, that is scored in one call."""

SERVER = "shuffleproof.core.rankers.outside.model_files:ModelServer"
MOST_BYTES = 4 << 30
"""Memory for opening rankers: trees whose branches meet again grow without end when walked."""

REMEMBERED = 2  # cached parts: the original and the perturbed one
BLANKS = " \t\r"
DETAIL = 900  # characters of a failed process's last words that are shown


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

        Args:
            file: its path.
            dataset: the part that they belong to.

        Raises:
            DataError: no file, something that is no finite number, or another number of lines.
        """
        path = _path_of(file)
        scores = np.fromiter(_numbers(path), dtype=np.float64)
        if len(scores) != dataset.documents:
            documents = counted(dataset.documents, "document")
            finding = f"{counted(len(scores), 'score')} where the part has {documents}"
            remedy = "Give one score a line, in the order of the rows."
            sizes = ((len(scores),), (dataset.documents,))
            raise AnswerError.of_shape(str(path), finding, remedy, sizes)
        source = _digest(path)
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
    """A model file of another library, scored in a process of its own.

    Most kinds read documents alone: a part is scored once, in a process that ends. A kind that may
    read whole lists (`model_files.Library.lists`) keeps its process, and scores them one by one.

    Attributes:
        name: `lightgbm:path` or another kind; the kind alone where it was stored.
        path: of the file.
        source: SHA-256 of the file.
        columns: the rule by which columns are matched (`columns.RULES`); empty: the only one that
            fits. None: it was stored by a version that matched columns by place.
        how: how the process read the model when it last scored: the rule, columns without a
            feature, rounds that were used, whether absent cells were missing values.
    """

    name: str
    path: Path
    source: str
    columns: str | None = ""
    reads: frozenset[Input] = ALONE
    rankings: int = 0
    how: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _seconds: list[float] = field(default_factory=list, repr=False, compare=False)
    _known: dict[str, Float32[np.ndarray, " docs"]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _processes: list[WorkerProcess] = field(default_factory=list, repr=False, compare=False)

    __repr__ = one_line

    @property
    def _reads_lists(self) -> bool:
        return LIBRARIES[RankerName.of(self.name).head].lists

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Scores by the model; each document is scored once if it is read alone.

        Raises:
            DataError: the file is no such model, does not fit the features, crashed or hung.
        """
        if self._reads_lists:
            return self.score_variants(dataset, [lists])[0]
        if dataset.documents > AT_ONCE:
            rows, places = np.unique(lists.rows, return_inverse=True)
            return self._model_scores(dataset, rows)[places]
        if dataset.fingerprint not in self._known:
            while len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            every = np.arange(dataset.documents)
            self._known[dataset.fingerprint] = self._model_scores(dataset, every)
        return self._known[dataset.fingerprint][lists.rows]

    def seconds_to_score(self, dataset: RankingDataset, lists: CandidateLists) -> float:
        """The seconds that the model itself takes: no start of a process, no remembered answer."""
        self._seconds.clear()
        self.score_variants(dataset, [lists])
        return sum(self._seconds)

    def score_variants(
        self, dataset: RankingDataset, variants: Sequence[CandidateLists]
    ) -> list[Float32[np.ndarray, " candidates"]]:
        """The scores of lists in several orders: the model is really asked, in each input order."""
        bounds = np.cumsum([len(variant.rows) for variant in variants])[:-1]
        rows = np.concatenate([variant.rows for variant in variants])
        lengths = np.concatenate([variant.lengths for variant in variants])
        # Whole lists in each part: of those that begin in the same AT_ONCE documents
        starts = np.cumsum(lengths) - lengths
        cuts = np.flatnonzero(np.diff(starts // AT_ONCE)) + 1
        scores = [
            self._model_scores(dataset, *part)
            for part in zip(np.split(rows, starts[cuts]), np.split(lengths, cuts), strict=True)
        ]
        return np.split(np.concatenate(scores), bounds)

    def column_rule(self, base: JudgedLists) -> str:
        """The rule by which its columns are matched, in words; it scores a list if need be."""
        if not self.how:
            self.score(base.dataset, base.lists.select(np.arange(1)))
        return f"columns by rule {self.how['columns']}: {RULES[self.how['columns']]}"

    def _ask_about(self, **request: Any) -> dict[str, Any]:
        """The answer of the process, which stays open for a model that reads lists."""
        if not self._reads_lists:
            return _ask("score", **request)
        if self._processes and not self._processes[0].alive:
            self._processes.pop().close()
        if not self._processes:
            self._processes.append(WorkerProcess(SERVER, SECONDS, quiet=True))
        return self._processes[0].ask("score", **request)

    def _model_scores(
        self,
        dataset: RankingDataset,
        rows: Int64[np.ndarray, " rows"],
        lengths: Int64[np.ndarray, " lists"] | None = None,
    ) -> Float32[np.ndarray, " rows"]:
        """The scores of rows; `lengths` are those of the lists in them, if a model reads lists."""
        request = {
            "features": dataset.features[rows],
            "ids": np.array(dataset.feature_ids, dtype=np.int64),
            "names": list(dataset.names),
            "rule": self.columns or "",
            "missing": dataset.missing,
        }
        if lengths is not None:
            request["lengths"] = lengths
        if (absent := dataset.absent_cells(rows)) is not None:
            request["absent"] = absent
        name = RankerName.of(self.name)
        try:
            answer = self._ask_about(kind=name.head, path=str(self.path), **request)
        except WorkerError as error:
            finding, remedy = _finding_and_remedy(error)
            raise DataError(name.display, finding, remedy) from error
        scores, how = answer["scores"], answer["how"]
        self._seconds.append(how.pop("seconds"))
        self.how.update(how)
        self._check_reading()
        if scores.shape != (len(rows),) or not np.isfinite(scores).all():
            finding = f"it answered {scores.shape}"
            if scores.shape == (len(rows),):
                finding = f"it answered {scores[~np.isfinite(scores)][0]} for a document"
            raise AnswerError(
                name.display, finding, "One finite score a document is due.",
                "not-finite" if scores.shape == (len(rows),) else "no-scores",
            )  # fmt: skip
        return scores.astype(np.float32)

    def _check_reading(self) -> None:
        """Refuse a stored model that an earlier version read otherwise."""
        if self.columns is not None:
            return
        by_name = self.how["columns"] == NAMES and self.how.get("moved")
        if by_name or "rounds" in self.how:
            finding = "an earlier version brought it, and read its columns or rounds otherwise"
            remedy = "Bring its file again."
            raise DataError(RankerName.of(self.name).display, finding, remedy)

    def save(self, directory: Path) -> None:
        """Copy the model file, and write the rule by which its columns are matched."""
        shutil.copyfile(self.path, directory / SAVED_MODEL)
        head = {"kind": RankerName.of(self.name).head, "source": self.source}
        rule = self.columns or self.how.get("columns", "")
        _save_head(directory, head | {"columns": rule})


def check_opens(directories: Sequence[Path]) -> str:
    """Open saved rankers in a process of its own, their trees walked; why not, empty if it can.

    Args:
        directories: written by `save` of any ranker, or forged.
    """
    try:
        _ask("open_rankers", memory=MOST_BYTES, directories=[*map(str, directories)])
    except WorkerError as error:
        return _finding_and_remedy(error)[0].replace(f"{directories[0].parent}/", "")
    return ""


def _ask(method: str, *, memory: int = 0, **request: Any) -> dict[str, Any]:
    """The answer of a process that ends afterwards."""
    worker = WorkerProcess(SERVER, SECONDS, memory=memory, quiet=True)
    try:
        return worker.ask(method, **request)
    finally:
        worker.close()


def _finding_and_remedy(error: WorkerError) -> tuple[str, str]:
    """Finding and remedy of a process that did not answer about a file."""
    if error.kind == SAID:
        return error.finding, error.remedy
    finding = error.finding
    if error.signal:
        cause = ", as where memory runs out" if error.signal == "SIGKILL" else ""
        finding = f"it crashed the library that reads it ({error.signal}{cause})"
    elif error.kind == LATE:
        finding = f"it has not answered within {SECONDS:.0f} s"
    elif error.kind == DIED:
        last_lines = error.details.strip().splitlines()
        finding = _printable(last_lines[-1]) if last_lines else finding
    return finding, "It may be damaged: save it again with the installed version of the library."


def _printable(text: str) -> str:
    """Printable characters of a library's last words, which may quote a file."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(line.split())[-DETAIL:]


def in_single_precision(
    offsets: Int64[np.ndarray, " bounds"], scores: Float64[np.ndarray, " docs"]
) -> Float32[np.ndarray, " docs"]:
    """The scores as float32, in every list of the same order and with the same ties.

    Where rounding would tie two, the higher one moves up by the smallest step there is.

    >>> scores = in_single_precision(np.array([0, 3]), np.array([1 + 1e-9, 1.0, 1.0]))
    >>> bool(scores[0] > scores[1] == scores[2] == 1)
    True
    """
    rounded = scores.astype(np.float32)
    # Rising, so that a step up can carry on to the scores above
    order = ragged.order_within(offsets, scores)
    lists = ragged.segment_ids(offsets)
    follows = np.diff(lists, prepend=-1) == 0
    rises, flat = np.zeros((2, len(order)), dtype=bool)  # differences of two −∞ are no numbers
    rises[1:] = scores[order][1:] > scores[order][:-1]
    flat[1:] = rounded[order][1:] <= rounded[order][:-1]
    tied = follows & rises & flat
    # Only lists with a new tie are walked through: rounding rarely makes one
    for place in np.flatnonzero(follows & np.isin(lists, lists[tied])).tolist():
        below, document = rounded[order[place - 1]], order[place]
        # The smallest float32 above the one below, if rounding did not separate them
        above = max(rounded[document], np.nextafter(below, np.float32(np.inf)))
        rounded[document] = above if rises[place] else below
    return rounded


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
    path = _path_of(file)
    return OutsideModel(f"{kind}:{file}", path.resolve(), _digest(path), columns)


def load(directory: Path) -> FileScores | OutsideModel:
    """Ranker that `save` wrote; its name is its kind."""
    head = json.loads((directory / HEAD).read_text(encoding="utf-8"))
    if head["kind"] == SCORES:
        scores = np.load(directory / SAVED_SCORES, allow_pickle=False)
        return FileScores(SCORES, scores, head["fingerprint"], head["source"])
    model = directory / SAVED_MODEL
    return OutsideModel(head["kind"], model, head["source"], head.get("columns"))


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


def _path_of(file: str) -> Path:
    path = Path(file).expanduser()
    if not path.is_file():
        raise no_file(path)
    return path


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ArtefactError(str(path), f"cannot be read ({error})", "Check the file.") from error

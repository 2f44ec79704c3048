"""Every deliberate error; each class builds its message from the facts it is given.

A message says where, what was found and what to do. The command line prints it and ends with
the class's exit code; anything that is not a ShuffleproofError is a defect of ours.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import ClassVar

LONGEST_QUOTE = 120

FLAG = re.compile(r"(?<![`\w-])--([a-z][a-z-]+)( is )?(?: (?=[\w]))?")
"""A flag in a message, with the blank before its value; pages replace it by a label."""


def quoted(text: str) -> str:
    r"""Text made safe to show: control characters escaped, cut to 120 characters.

    >>> print(quoted("a\x00b"))
    'a\x00b'
    """
    shown = text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…"
    return ascii(shown) if not shown.isprintable() else repr(shown)


def shown(name: object) -> str:
    r"""A name of a file as it may be shown: no control characters, cut to 120 characters.

    >>> print(shown("bm25"), shown("a\x1b[2J"))
    bm25 'a\x1b[2J'
    """
    text = str(name)
    return text if text.isprintable() and len(text) <= LONGEST_QUOTE else quoted(text)


class ShuffleproofError(Exception):
    """Anything a user's input or environment can cause."""

    exit_code: ClassVar[int] = 1


class MissingPackageError(ShuffleproofError):
    """A package of an extra that is not installed."""

    EXTRAS: ClassVar[dict[str, str]] = {
        "Stemmer": "train", "lightgbm": "train", "torch": "train", "optuna": "tune",
        "kaleido": "app", "plotly": "app", "streamlit": "app", "ray": "cluster",
        "submitit": "slurm", "xgboost": "xgboost", "onnxruntime": "onnx", "catboost": "catboost",
        "skops": "sklearn", "sklearn": "sklearn",
    }  # fmt: skip
    """The extra of pyproject.toml that installs a package, by the name it is imported by."""

    def __init__(self, package: str) -> None:
        """Name the package and the command that installs it."""
        self.finding = f"{package} is not installed"
        self.remedy = f"Run: pip install 'shuffleproof[{self.EXTRAS[package]}]'"
        super().__init__(f"{self.finding}. {self.remedy}")

    @classmethod
    def of(cls, error: BaseException) -> "MissingPackageError | None":
        """The message for a failed import; None where no extra has the module.

        >>> print(MissingPackageError.of(ModuleNotFoundError(name="torch.nn")))
        torch is not installed. Run: pip install 'shuffleproof[train]'
        """
        package = str(getattr(error, "name", "")).partition(".")[0]
        is_missing = isinstance(error, ModuleNotFoundError) and package in cls.EXTRAS
        return cls(package) if is_missing else None


class UsageError(ShuffleproofError):
    """The call itself is wrong: an unknown name, an impossible value."""

    exit_code: ClassVar[int] = 2


def closest(word: str, known: Iterable[str]) -> str:
    """Known name that is spelt most like a word, or begins with it; empty: none.

    >>> closest("Setrnk", ["dlcm", "setrank-msab"]), closest("setr", ["setrank-msab"])
    ('setrank-msab', 'setrank-msab')
    """
    letters = {name.casefold(): name for name in known}
    begin = [name for name in letters if len(word) > 1 and name.startswith(word.casefold())]
    near = get_close_matches(word.casefold(), letters, n=1) or begin
    return letters[near[0]] if near else ""


class UnknownNameError(UsageError):
    """A name that no registry entry has."""

    MOST: ClassVar[int] = 12
    LISTED = ("rankers", "losses", "measures", "perturbations", "aggregators", "retrievers")

    def __init__(self, kind: str, name: str, known: Iterable[str], meant: str = "") -> None:
        """Name it, with the closest known name (`meant`), or a few known names if none is close."""
        names = sorted(known)
        meant = meant or closest(name.partition("@")[0], names)
        hint = f" (did you mean {meant}?)" if meant else f"; known: {', '.join(names[: self.MOST])}"
        if not meant and len(names) > self.MOST:
            listed = next((one for one in self.LISTED if one.startswith(kind)), "")
            command = f"; `shuffleproof list {listed}` shows all" if listed else ""
            hint += f" and {len(names) - self.MOST} more{command}"
        super().__init__(f"no {kind} is called {quoted(name)}{hint}")


class ParameterError(UsageError):
    """A parameter outside its declared type, bounds or choices."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"{name} is {quoted(str(value))}; it must be {allowed}")


class DataError(ShuffleproofError):
    """Data that cannot be used, and what to do about it."""

    def __init__(self, place: str, finding: str, remedy: str) -> None:
        self.place, self.finding, self.remedy = place, finding, remedy
        super().__init__(f"{place}: {finding}. {remedy}")


def no_file(path: Path | str) -> DataError:
    """Finding about a path that is no file: missing, a folder, or a pipe."""
    if Path(path).is_dir():
        return DataError(str(path), "a folder, not a file", "Name the files in it.")
    if Path(path).exists():
        return DataError(str(path), "a pipe or a device, not a file", "Save its text to a file.")
    return DataError(str(path), "no such file", "Check the path.")


class LetorError(DataError):
    """A malformed line of LETOR text, named by file and line number (1-based)."""

    def __init__(
        self, path: Path | str, line_number: int, line: str, finding: str, remedy: str
    ) -> None:
        self.line_number = line_number
        super().__init__(f"{path}:{line_number}", f"{finding} in {quoted(line)}", remedy)


class BadLinesError(LetorError):
    """Several malformed lines of one file: the first in full, the others a line each."""

    def __init__(self, lines: Sequence[LetorError], *, more: bool) -> None:
        """Put them together.

        Args:
            lines: two or more, in the order of the file.
            more: whether others may follow.
        """
        error, *others = self.lines = tuple(lines)
        self.line_number = error.line_number
        first_of = "The first " if more else ""
        listed = "\n".join(f"line {other.line_number}: {other.finding}" for other in others)
        remedy = (
            f"{error.remedy}\n{first_of}{len(lines)} malformed lines; after this one:\n{listed}"
        )
        DataError.__init__(self, error.place, error.finding, remedy)


class ShapeError(DataError):
    """Arrays that do not belong together."""

    def __init__(self, name: str, finding: str, expected: str) -> None:
        super().__init__(name, finding, f"Expected {expected}.")


class AnswerError(DataError):
    """A ranker answered something else than one finite number a document.

    Attributes:
        fault: a code of `core.checks.doctor`: dropped- or added-documents, not-finite, no-scores.
    """

    def __init__(self, place: str, finding: str, remedy: str, fault: str) -> None:
        self.fault = fault
        super().__init__(place, finding, remedy)


class FixedScoresError(DataError):
    """Scores of a file are wanted of what the file does not score, or in another order."""

    def __init__(self, ranker: str, of: str = "") -> None:
        """Name the ranker, and the combination it is a member of."""
        super().__init__(
            f"{of}, {ranker}" if of and of != ranker else ranker,
            "a score file has no scores for changed lists",
            "Use the ranker itself: a Python function or a model file.",
        )


class ArtefactError(ShuffleproofError):
    """A stored artefact that is missing, broken or being written by someone else."""

    def __init__(self, key: str, finding: str, remedy: str) -> None:
        self.key, self.finding, self.remedy = key, finding, remedy
        super().__init__(f"{key}: {finding}. {remedy}")


class UnknownRankerError(ArtefactError):
    """A name or key that no stored ranker has: exit status 2, as of every misspelt ranker."""

    exit_code: ClassVar[int] = 2


class MissingRankingError(DataError):
    """A ranker that reads initial rankings was given lists without (enough of) them."""

    def __init__(self, ranker: str, needed: int, carried: int) -> None:
        super().__init__(
            ranker,
            f"reads {needed} initial ranking(s), the lists carry {carried}",
            "Name the initial rankers (--initial) when the lists are made.",
        )


class DivergedError(ShuffleproofError):
    """Training whose loss is no longer a finite number."""

    def __init__(self, ranker: str, epoch: int, learning_rate: float) -> None:
        super().__init__(
            f"{ranker}: the training loss became infinite or NaN in epoch {epoch} (1-based). "
            f"Lower learning_rate (it was {learning_rate:g}), set clip, or choose another "
            "normalisation."
        )


class JobError(ShuffleproofError):
    """The table of jobs cannot be used, or has no such job."""

    def __init__(self, place: str, finding: str, remedy: str) -> None:
        super().__init__(f"{place}: {finding}. {remedy}")


class ScoringError(ShuffleproofError):
    """The process that scores for the pages has no answer; the page says so and lives on.

    Attributes:
        details: the end of what the process wrote, for the log.
    """

    def __init__(self, finding: str, remedy: str, details: str = "") -> None:
        self.details = details
        finding = finding.removesuffix(".")
        super().__init__(f"The scoring process has no answer: {finding}. {remedy}".strip())


class UnfinishedError(ShuffleproofError):
    """Work whose time was up before anything of it was finished."""

    def __init__(self, seconds: int | float, under_way: str) -> None:
        super().__init__(
            f"stopped after {seconds:g} s, before the first trial was finished ({under_way} under "
            "way): what is finished is stored; allow more seconds, or ask of fewer queries"
        )

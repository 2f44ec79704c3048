"""Hostile TREC runs and judgments, read twice: by the reader and by a slow one of its own.

`python -m tests.soak.fuzz_trec 1000`; every eighth is judged by the job of the web.
"""

import io
import re
from decimal import Decimal
from pathlib import Path

import numpy as np

from shuffleproof.core import jobs
from shuffleproof.core.data import ragged, trec
from shuffleproof.core.errors import DataError, ShuffleproofError
from shuffleproof.core.library import uploads
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.benchmark import outside_runs
from shuffleproof.core.studies.workbench import run_to_end
from tests.soak import fuzz_letor, fuzzing
from tests.soak.fuzz_letor import NUMBER, UnsoundError
from tests.soak.fuzzing import UnclearError, WrongError

TOKENS = (
    b"1_0", b"\xd9\xa3", b"nan", b"inf", b"-inf", b"1e400", b"1e300", b"1e-400", b"9" * 300, b"0x1",
    b"\r", b"\n", b"\t", b" ", b"\0", b"\xff", b"\xc2\xa0", b"\x0b", b"\xe2\x80\xa8", b"-1", b"+2",
    b"1 Q0 d1 1 2 t\n", b"1 0 d1 2\n", b"1.5", b"16777217", b".5", b"5.", b"\xef\xbb\xbf", b"1e",
)  # fmt: skip
TOPICS, DOCUMENTS = 4, 8


def sound(generator: np.random.Generator) -> tuple[bytes, bytes]:
    """A run whose scores differ by little, and judgments of some of its documents."""
    scale = ("e-60", "e300", "", "e-320", "")[int(generator.integers(0, 5))]
    base = int(generator.choice([0, 16777216, 2**53]))
    run, qrels = [], []
    for topic in range(TOPICS):
        for document in range(DOCUMENTS):
            score = f"{base + int(generator.integers(0, 6))}{scale}"
            run.append(f"{topic} Q0 d{document} 0 {score} tag\n")
            if generator.integers(0, 2) or document < 2:
                qrels.append(f"{topic} 0 d{document} {generator.integers(-1, 4)}\n")
    return "".join(run).encode(), "".join(qrels).encode()


def attempt(generator: np.random.Generator, room: Path) -> None:
    """A run and its judgments, of which one is damaged; see `fuzzing`."""
    texts = list(sound(generator))
    hurt = int(generator.integers(0, 2))
    texts[hurt] = fuzzing.damaged(texts[hurt], generator, TOKENS)
    texts = [fuzzing.packed(text, generator) for text in texts]
    if not generator.integers(0, 8):
        by_the_job(texts, room)
        return
    paths = room / "a.run", room / "a.qrels"
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text)
    run = read(trec.read_run, paths[0], slowly(texts[0], 6))
    grades = read(trec.read_qrels, paths[1], slowly(texts[1], 4))
    expected_run, expected_grades = slowly(texts[0], 6), slowly(texts[1], 4)
    if run.scores != {t: {d: float(s) for d, s in f.items()} for t, f in expected_run.items()}:
        raise WrongError("scores")
    if grades != expected_grades:
        raise WrongError("grades")
    ranked(outside_runs.judge_runs(grades, {"a": run}), expected_run, run.merged)


def read(reader: object, path: Path, expected: dict | str) -> object:
    """What a reader makes of a file, where it agrees with the slow one on whether it is sound."""
    try:
        found = reader(path)
    except DataError:
        if not isinstance(expected, str):
            raise WrongError(f"a sound file is refused: {path.name}") from None
        raise
    if isinstance(expected, str):
        raise WrongError(f"{path.name} is read although not sound: {expected}")
    return found


def slowly(text: bytes, columns: int) -> dict | str:
    """Score, exactly as written, or grade by topic and document; or why the file is not sound."""
    try:
        return lines_of(fuzz_letor.plain(text), columns) or "no lines"
    except UnsoundError as error:
        return str(error)


def lines_of(text: bytes, columns: int) -> dict[str, dict]:
    """Score or grade by topic and document."""
    found: dict[str, dict] = {}
    for line in text.split(b"\n"):
        if b"\r" in line.removesuffix(b"\r"):
            raise UnsoundError("a bare carriage return")
        blanks = b" \t\r\x0b\x0c"
        words = re.split(b"[" + blanks + b"]+", line.strip(blanks), maxsplit=columns - 1)
        if words == [b""]:
            continue
        try:
            line.decode()
        except UnicodeDecodeError:
            raise UnsoundError("not UTF-8") from None
        if len(words) < columns:
            raise UnsoundError(f"{len(words)} columns")
        if columns == 6:
            check_rank(words)
        topic, document = (one.decode() for one in (words[0], words[2]))
        known = found.setdefault(topic, {})
        value = score(words[4]) if columns == 6 else grade(words[3])
        if document in known and (columns == 6 or known[document] != value):
            raise UnsoundError("a document twice")
        known[document] = value
    return found


def check_rank(words: list[bytes]) -> None:
    """Refuse a rank that is no number, and a line that an id with a blank may have shifted."""
    behind = words[5].split()
    if len(behind) > 1 and NUMBER.fullmatch(behind[0]):
        raise UnsoundError("shifted")
    score(words[3])


def score(word: bytes) -> Decimal:
    """A score as written."""
    if not NUMBER.fullmatch(word) or np.isinf(float(word)):
        raise UnsoundError(f"score {word!r}")
    return Decimal(word.decode())


def grade(word: bytes) -> int:
    """A grade."""
    word = re.sub(rb"\.0+$", b"", word)
    if not re.fullmatch(rb"[+-]?[0-9]{1,18}", word) or abs(int(word)) > 1 << 24:
        raise UnsoundError(f"grade {word!r}")
    return int(word)


def ranked(whole: outside_runs.JudgedRuns, expected: dict, merged: int) -> None:
    """Every order and tie is that of the scores as written, but for the ties that were counted."""
    lists, scores = whole.lists["a"], whole.scores["a"]
    if len(scores) == 0:
        return
    given = outside_runs.as_ranked(lists, scores)
    wrong = 0
    for place, topic in enumerate(whole.dataset.query_ids):
        rows = slice(int(lists.offsets[place]), int(lists.offsets[place + 1]))
        names = [whole.dataset.doc_ids[row] for row in lists.rows[rows].tolist()]
        exact = [expected.get(topic, {})[name] for name in names]
        for one in range(len(exact)):
            for other in range(one):
                truth = (exact[one] > exact[other]) - (exact[one] < exact[other])
                ours = np.sign(float(given[rows][one]) - float(given[rows][other]))
                if truth != ours and not (ours == 0 and merged):
                    wrong += 1
    if wrong:
        raise WrongError(f"{wrong} pairs are ranked otherwise than written")
    if not np.array_equal(
        ragged.competition_ranks(lists.offsets, scores),
        ragged.competition_ranks(lists.offsets, given),
    ):
        raise WrongError("ranks")


def by_the_job(texts: list[bytes], room: Path) -> None:
    """The job that judges runs: a stored comparison, or nothing at all."""
    store = Store(room / "store")
    files = [("runs/a.run", io.BytesIO(texts[0])), ("qrels/a.qrels", io.BytesIO(texts[1]))]
    upload = uploads.spool(store, files)
    try:
        run_to_end(jobs.KINDS["runs"](store, upload=upload, name="a"))
    except ShuffleproofError as error:
        if str(room) in str(error):
            raise UnclearError(f"it names a folder of ours: {error}") from error
        if list(store.artefacts()):
            raise WrongError("a partial study") from error
        raise


if __name__ == "__main__":
    fuzzing.main(attempt, __doc__)

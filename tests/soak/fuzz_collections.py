"""Crafted text collections: BEIR's, MTEB's, TREC's and Cranfield's forms, archives of them.

`python -m tests.soak.fuzz_collections 300 --seed 7`; the test suite runs a slice. A sound
collection must give the documents, queries and judgments that it holds.
"""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd

from shuffleproof.core.errors import DataError
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval import collection as table
from shuffleproof.core.retrieval.ingest import ingest
from shuffleproof.core.store.artefacts import Store
from tests.soak import fuzzing
from tests.soak.fuzzing import WrongError

TOKENS = (
    b"\xff", b"\0", b"\r", b"\n", b"\t", b'"', b"9" * 400, b"9" * 5000, b"1e400", b"[" * 100_000,
    b'{"_id":' * 3000, b'"\\ud800"', b"null", b"[]", b"true", b"<DOC>", b"</DOC>",
    b"<DOCNO>" * 9000, b"<num>" * 9000, b"<num>" + b" " * 300_000, b".W x",
    b".W x" + b" " * 300_000 + b"y", b".I\n", b"&#" + b"9" * 5000 + b";",
    b"/\n", b"<" * 100_000, b"PAR1",
)  # fmt: skip
VALUES = (
    None, ["d"], {"a": 1}, True, 10**400, "9" * 5000, float("nan"), 1e308, -1, 10**17, "", "\ud800",
    "x" * 100_000, 0.5, "d1", "q0",
)  # fmt: skip
FORMS = ("beir", "parquet", "trec", "smart")
BOUNDS = fuzzing.Bounds(seconds=5.0, patience=90.0)
"""Seconds include those of the guarded processes."""

Rows = dict[str, list[dict[str, object]]]
Files = dict[str, bytes]


def sound(generator: np.random.Generator) -> Rows:
    """Documents, queries and judgments."""
    documents, queries = int(generator.integers(1, 6)), int(generator.integers(1, 4))
    return {
        "corpus": [
            {"_id": f"{at + 1}", "title": "", "text": f"words of {at}"} for at in range(documents)
        ],
        "queries": [{"_id": f"{at + 1}", "text": f"about {at}"} for at in range(queries)],
        "qrels": [
            {
                "query-id": f"{at + 1}",
                "corpus-id": f"{int(generator.integers(0, documents)) + 1}",
                "score": int(generator.integers(0, 3)),
            }
            for at in range(queries)
        ],
    }


def written(rows: Rows, form: str, generator: np.random.Generator) -> Files:
    """The files of a collection by name."""
    judged = [
        [str(row.get(name, "")) for name in ("query-id", "corpus-id", "score")]
        for row in rows["qrels"]
    ]
    if form == "parquet":
        return {f"{name}/t.parquet": _parquet(some) for name, some in rows.items()}
    if form == "beir":
        files = {f"{name}.jsonl": _lines(some) for name, some in rows.items()}
        if generator.integers(0, 2):
            text = "query-id\tcorpus-id\tscore\n"
            text += "".join("\t".join(row) + "\n" for row in judged)
            del files["qrels.jsonl"]
            files["qrels/test.tsv"] = text.encode(errors="surrogatepass")
        return files
    qrels = "".join(f"{query} 0 {document} {grade}\n" for query, document, grade in judged)
    if form == "trec":
        texts = "".join(
            f"<DOC>\n<DOCNO>{_of(row, '_id')}</DOCNO>\n"
            f"<TEXT>\n{_of(row, 'text')}\n</TEXT>\n</DOC>\n"
            for row in rows["corpus"]
        )
        topics = "".join(
            f"<top>\n<num> Number: {_of(row, '_id')}\n<title> {_of(row, 'text')}\n</top>\n"
            for row in rows["queries"]
        )
        files = {"docs.trec": texts, "topics.txt": topics, "qrels.txt": qrels}
    else:
        marked = {
            name: "".join(f".I {_of(row, '_id')}\n.W\n{_of(row, 'text')}\n" for row in rows[name])
            for name in ("corpus", "queries")
        }
        files = {"c.all": marked["corpus"], "c.qry": marked["queries"], "c.rel": qrels}
    return {name: text.encode(errors="surrogatepass") for name, text in files.items()}


def _of(row: dict[str, object], name: str) -> str:
    return str(row.get(name, ""))


def _lines(rows: list[dict[str, object]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _parquet(rows: list[dict[str, object]]) -> bytes:
    out = io.BytesIO()
    frame = pd.DataFrame(rows)
    try:
        frame.to_parquet(out)
    except Exception:  # noqa: BLE001 (whatever Parquet cannot hold)
        out = io.BytesIO()
        frame.map(ascii).to_parquet(out)
    return out.getvalue()


def changed(rows: Rows, generator: np.random.Generator) -> Rows:
    """One value that is not as it should be, one row twice, or one name changed."""
    name = str(generator.choice([*rows]))
    some = [dict(row) for row in rows[name]]
    row = some[int(generator.integers(0, len(some)))]
    key, kind = str(generator.choice([*row])), int(generator.integers(0, 4))
    if kind < 2:
        row[key] = VALUES[int(generator.integers(0, len(VALUES)))]
    elif kind == 2:
        some.append(row)
    else:
        del row[key]
    return {**rows, name: some}


def archive(files: Files, generator: np.random.Generator) -> bytes:
    """The files in a tar archive; some say that they are larger than they are."""
    out, lie = io.BytesIO(), int(generator.integers(0, 4))
    mode = str(generator.choice(["w", "w:gz", "w:xz"]))
    with tarfile.open(fileobj=out, mode=mode) as opened:  # type: ignore[call-overload]
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            if lie == 0:
                member.size = int(generator.choice([3 << 29, 1 << 40, 1 << 20]))
                opened.fileobj.write(member.tobuf())
                break
            if lie == 1:
                member.type = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE][len(name) % 3]
                member.linkname = "/etc/passwd"
            opened.addfile(member, io.BytesIO(text))
    return out.getvalue()


def attempt(generator: np.random.Generator, room: Path) -> None:
    """One collection, sound, changed or damaged; see `fuzzing`."""
    form, kind = str(generator.choice(FORMS)), int(generator.integers(0, 8))
    rows = sound(generator)
    folder = room / "collection"
    folder.mkdir()
    files = written(changed(rows, generator) if 0 < kind < 4 else rows, form, generator)
    if kind >= 5:
        name = str(generator.choice([*files]))
        files[name] = fuzzing.damaged(files[name], generator, TOKENS)
    if kind == 4:
        (folder / "all.tar").write_bytes(archive(files, generator))
    else:
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(text)
    try:
        found = table.open_(run_to_end(ingest(folder, None, Store(room / "store"))).path)
    except DataError:
        if kind == 0:
            raise WrongError("a sound collection is refused") from None
        raise
    if kind == 0:
        wanted = [row["text"] for row in rows["corpus"]]
        if [text.strip() for text in found.texts] != wanted:
            raise WrongError("texts")
        if len(found.judged) != len(rows["qrels"]):
            raise WrongError("judgments")


if __name__ == "__main__":
    fuzzing.main(attempt, __doc__, 300, warm=2, bounds=BOUNDS)

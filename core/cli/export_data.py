"""Writing a data set to files: LETOR text, judgments, tables; one part or all of them."""

import argparse
from pathlib import Path

from shuffleproof.core.cli.open import one_fold, store_of
from shuffleproof.core.data import catalogue, table_write, trec
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.letor import write as letor_write
from shuffleproof.core.errors import UsageError
from shuffleproof.core.store.artefacts import Store

ALL = "all"
FILES = {"train": "train.txt", "valid": "vali.txt", "test": "test.txt"}


def is_data(what: str, store: Store) -> bool:
    """Whether a text names a data set: a stored one, the sample, or files."""
    named = store.names().get(what) or store.names().get(f"{what}-fold1")
    if named is not None:
        return named.kind == catalogue.KIND
    return what == catalogue.SAMPLE or what.startswith("data-") or Path(what).exists()


def write(arguments: argparse.Namespace, chosen: str) -> str:
    """Write a data set in a format; the part that was written, or `all`.

    A table takes all parts unless --part names one, with a column that says which. LETOR text
    takes all parts as a folder of train.txt, vali.txt and test.txt, which `ingest` reads back;
    a single file of text or judgments holds the test part unless --part says otherwise.

    Raises:
        UsageError: all parts as LETOR text in one file.
    """
    store, out = store_of(arguments), arguments.out
    fold = catalogue.resolve(one_fold(arguments.what, store), store)
    part = arguments.part or (ALL if chosen in table_write.WRITERS or is_folder(out) else "test")
    parts: dict[str, RankingDataset] = {
        name: getattr(fold, name) for name in FILES if part in {name, ALL}
    }
    if chosen in table_write.WRITERS:
        table_write.WRITERS[chosen](parts, out)
    elif chosen == "qrels":
        trec.write_qrels(out, *parts.values())
    elif part != ALL:
        letor_write.write(parts[part], out)
    elif not is_folder(out):
        raise UsageError(f"all parts go into a folder: name one instead of {out.name}")
    else:
        out.mkdir(parents=True, exist_ok=True)
        for name, dataset in parts.items():
            letor_write.write(dataset, out / FILES[name])
    return str(part)


def is_folder(out: Path) -> bool:
    """Whether a path that is written to means a folder."""
    return out.is_dir() or not out.suffix

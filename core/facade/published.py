"""Conventions of a published number, from Python: `sp.which`."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

import pandas as pd

from shuffleproof.command import answer, takes_flags

Files = str | PathLike[str] | Sequence[str | PathLike[str]]


@takes_flags("which")
def which(runs: Files, qrels: Files, **flags: Any) -> pd.DataFrame:
    r"""Find the conventions that reproduce a published number, the simplest first.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run, qrels = Path(folder, "a.run"), Path(folder, "qrels.txt")
    ...     _ = qrels.write_text("1 0 a 1\n1 0 b 2\n")
    ...     _ = run.write_text("1 Q0 a 1 9 mine\n1 Q0 b 2 8 mine\n")
    ...     table = which(run, qrels, value=".8597", measure="ndcg@10")
    >>> table.attrs["finding"], table.convention[0]
    ('.8597 is NDCG@10 by trec_eval.', 'NDCG(gain=linear,ties=trec)@10')

    Returns:
        One row per convention; `attrs["finding"]` says which one it is.

    Args:
        runs: TREC runs, or scores of LETOR rows; several are folds.
        qrels: relevance judgments, or LETOR files; one, or one for each run.
        flags: those of the command; `value` as text, so that zeros at its end count:
    """
    found = answer("which", [], {"runs": runs, "qrels": qrels, **flags}).json
    table = pd.DataFrame(found["rows"])
    table.attrs["finding"] = found["finding"]
    return table

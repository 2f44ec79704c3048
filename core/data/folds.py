"""The folds of a data set: the ones stored as `name-fold1` … `name-foldK`, or a single one."""

import re
from pathlib import Path

from shuffleproof.core.data.layout import SHIPPED, Parts, find
from shuffleproof.core.store.artefacts import Store


def folds_of(data: str, store: Store) -> list[str]:
    """Names to open, one per fold, in the folds' order.

    A stored name is its own single fold; `name` alone means all of
    `name-fold1` … where these are stored; a folder of `Fold1` … means its folders.
    """
    names = store.names()
    if data in SHIPPED or data in names:
        return [data]
    numbered = {
        int(match[1]): name
        for name in names
        if (match := re.fullmatch(re.escape(data) + r"-fold([0-9]{1,6})", name))
    }
    if numbered:
        return [numbered[number] for number in sorted(numbered)]
    path = Path(data)
    if not path.is_dir():
        return [data]
    folds = find(path)
    if len(folds) == 1:
        return [data]
    return [str(path / parts.name) for parts in folds if isinstance(parts, Parts)]

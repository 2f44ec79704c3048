"""Data sets read from files without a store."""

from pathlib import Path

from shuffleproof.core.data import layout, source
from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.progress import run_to_end


def load(path: Path, **settings) -> list[source.LoadedFold]:
    """Every fold of a folder, or one file that is split; settings as `load_split`'s."""
    if not path.is_dir():
        return [run_to_end(source.load_split(path, **settings))]
    return [run_to_end(source.loading_parts(parts, **settings)) for parts in layout.find(path)]


def load_files(train=(), valid=(), test=(), **settings) -> Fold:
    """The fold of files that are named by part."""
    parts = layout.Parts("parts", tuple(train), tuple(valid), tuple(test))
    return run_to_end(source.loading_parts(parts, **settings)).fold

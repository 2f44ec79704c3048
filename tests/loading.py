"""Data sets read from files without a store."""

from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from shuffleproof.core.data import layout, source
from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.data.letor.read import LetorTable, ParsedLetor
from shuffleproof.core.data.letor.stream import Limits, MissingCells
from shuffleproof.core.progress import run_to_end


def load(path: Path, **settings) -> list[source.LoadedFold]:
    """Every fold of a folder, or one file that is split; settings as `loading`'s."""
    places = layout.find(path) if path.is_dir() else [path]
    return [run_to_end(source.loading(place, **settings)) for place in places]


def load_files(train=(), valid=(), test=(), **settings) -> Fold:
    """The fold of files that are named by part."""
    parts = layout.Parts("parts", tuple(train), tuple(valid), tuple(test))
    return run_to_end(source.loading(parts, **settings)).fold


def read(file, *, groups=None, missing="error", name=None, limits=None) -> ParsedLetor:
    """One file of documents as a data set; the bytes of an `io.BytesIO` are written first."""
    table = LetorTable(MissingCells(missing), limits or Limits())
    with TemporaryDirectory() as folder:
        file, groups = (
            _written(given, Path(folder) / called) if isinstance(given, BytesIO) else given
            for given, called in ((file, "a.txt"), (groups, "group file"))
        )
        for _ in table.adding(file, groups=groups, name=name):
            pass
    return table.to_dataset()


def _written(file: BytesIO, path: Path) -> Path:
    path.write_bytes(file.getvalue())
    return path

"""Small results filed under digests: one safetensors file a record, whole or not there."""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from shuffleproof.core.errors import ArtefactError, ParameterError
from shuffleproof.core.store import private
from shuffleproof.core.store.keys import canonical_json
from shuffleproof.core.store.manifest import disk_errors

DIGEST = re.compile(r"[0-9a-f]{16,128}")
ABANDONED_AFTER = 3600.0
"""Seconds after which an unfinished file counts as abandoned."""


@dataclass(frozen=True)
class Records:
    """A folder of records, safe for several processes.

    Attributes:
        directory: made when the first record is put.
    """

    directory: Path

    def get(self, digest: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """The plain values and the arrays of a record, or None where there is none.

        Raises:
            ArtefactError: the file is there but is not what was put.
        """
        path = self._path(digest)
        try:
            with safe_open(path, framework="np") as file:
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
                header = file.metadata() or {}
        except FileNotFoundError:
            return None
        except (SafetensorError, OSError) as error:
            raise _damage_error(path, f"cannot be read ({error})") from error
        if header.get("sha256") != _digest(header.get("meta", ""), arrays):
            raise _damage_error(path, "is not what was stored (its SHA-256 differs)")
        return json.loads(header["meta"]), arrays

    def put(self, digest: str, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Store a record; an existing one does not change.

        Args:
            digest: of what determines the record, hexadecimal.
            meta: plain JSON values.
            arrays: any shapes, numbers or truth values.

        Raises:
            ArtefactError: the disk is full or may not be written to.
            ParameterError: `meta` holds something that JSON cannot say.
        """
        path = self._path(digest)
        if path.exists():
            return
        text = canonical_json(meta)
        plain = {
            name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()
        }
        content = save(plain, {"meta": text, "sha256": _digest(text, plain)})
        self._write(digest, content)

    def __contains__(self, digest: str) -> bool:
        """True if the record exists; does not open it."""
        return self._path(digest).exists()

    def _write(self, digest: str, content: bytes) -> None:
        path = self._path(digest)
        with disk_errors(digest, self.directory):
            if not self.directory.parent.exists():
                private.make_private(self.directory.parent)
            self.directory.mkdir(mode=private.MODE, exist_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(path, content, self.directory / "incoming")

    def _path(self, digest: str) -> Path:
        if not DIGEST.fullmatch(digest):
            raise ParameterError("record digest", digest, "at least 16 hexadecimal digits")
        return self.directory / digest[:2] / f"{digest}.safetensors"


def _write_whole(path: Path, content: bytes, incoming: Path) -> None:
    """Write into `incoming` and rename; what killed writers left there goes after an hour.

    The hour is by the clock of the disk, which all who write there share: ours may be wrong.
    """
    incoming.mkdir(exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f"{path.stem}.", dir=incoming)
    now = os.fstat(descriptor).st_mtime
    for left in incoming.iterdir():
        with suppress(FileNotFoundError):  # renamed or removed by another process meanwhile
            if now - left.stat().st_mtime > ABANDONED_AFTER:
                left.unlink()
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _digest(meta: str, arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(meta.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _damage_error(path: Path, finding: str) -> ArtefactError:
    return ArtefactError(path.stem, finding, f"Remove {path}: the trial is then computed again.")

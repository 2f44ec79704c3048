"""Words that a person puts on artefacts: one small file an artefact, beside the store's names."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from core.errors import ParameterError
from core.store import manifest
from core.store.keys import ArtefactKey

TAG = re.compile(r"\w[\w .+@=-]{0,39}")


@dataclass(frozen=True)
class Tags:
    """The tags of a store's artefacts, bundled ones included.

    Attributes:
        root: of the store.
    """

    root: Path

    def of(self, key: ArtefactKey) -> tuple[str, ...]:
        """The tags of an artefact, sorted; none where nothing was said, or its file is damaged."""
        try:
            found = json.loads(self._path(key).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return ()
        return tuple(sorted(tag for tag in found if isinstance(tag, str)))

    def put(self, key: ArtefactKey, tags: Iterable[str]) -> None:
        """Let an artefact carry exactly these tags.

        Raises:
            ParameterError: a tag that is empty, long, or holds other than plain characters.
            ArtefactError: the disk is full or may not be written to.
        """
        wanted = sorted({tag.strip() for tag in tags})
        for tag in wanted:
            if not TAG.fullmatch(tag):
                raise ParameterError("tag", tag, "1 to 40 letters, digits, blanks and . _ + @ = -")
        path = self._path(key)
        with manifest.explained(str(key), self.root):
            if not wanted:
                path.unlink(missing_ok=True)
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            part.write_text(json.dumps(wanted, ensure_ascii=False), encoding="utf-8")
            part.replace(path)

    def _path(self, key: ArtefactKey) -> Path:
        return self.root / "tags" / f"{key}.json"

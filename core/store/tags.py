"""Words that a person puts on artefacts: one small file an artefact, beside the store's names."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shuffleproof.core.errors import ArtefactError, ParameterError
from shuffleproof.core.store import manifest, plain_json
from shuffleproof.core.store.keys import ArtefactKey

TAG = re.compile(r"\w[\w .+@=-]{0,39}")
MOST_BYTES = 1 << 16


def is_tag(word: object) -> bool:
    """Whether it can be a tag.

    >>> is_tag("for the paper"), is_tag("a/b")
    (True, False)
    """
    return isinstance(word, str) and TAG.fullmatch(word) is not None


def read_tags(path: Path) -> tuple[str, ...]:
    """The tags in a file, sorted.

    Raises:
        FileNotFoundError: there is none.
        ArtefactError: it is damaged, or no file.
    """
    remedy = "Remove it with `shuffleproof library clean --yes`, then tag the entry again."
    try:
        words = plain_json.read_json(path, MOST_BYTES)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise ArtefactError(f"tags of {path.stem}", f"unreadable ({error})", remedy) from error
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ArtefactError(f"tags of {path.stem}", "no list of words", remedy)
    return tuple(sorted(words))


@dataclass(frozen=True)
class Tags:
    """The tags of a store's artefacts, bundled ones included.

    Attributes:
        root: of the store.
    """

    root: Path

    def of(self, key: ArtefactKey) -> tuple[str, ...]:
        """The tags of an artefact, sorted; none where nothing was said, or its file is damaged."""
        with suppress(FileNotFoundError, ArtefactError):
            return read_tags(self._path(key))
        return ()

    def put(self, key: ArtefactKey, tags: Iterable[str]) -> None:
        """Let an artefact carry exactly these tags.

        Raises:
            ParameterError: a tag that is empty, long, or holds other than plain characters.
            ArtefactError: the disk is full or may not be written to.
        """
        words = sorted({tag.strip() for tag in tags})
        for tag in words:
            if not is_tag(tag):
                raise ParameterError("tag", tag, "1 to 40 letters, digits, blanks and . _ + @ = -")
        path = self._path(key)
        with manifest.disk_errors(str(key), self.root):
            if not words:
                path.unlink(missing_ok=True)
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            part.write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8")
            part.replace(path)

    def _path(self, key: ArtefactKey) -> Path:
        return self.root / "tags" / f"{key}.json"

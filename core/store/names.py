"""Names of artefacts: one small file per name, `names/<name>`, that holds a key."""

import re
from contextlib import suppress
from pathlib import Path

from shuffleproof.core.errors import ArtefactError, ParameterError
from shuffleproof.core.store import plain_json
from shuffleproof.core.store.keys import ArtefactKey

NAME = re.compile(r"\w[\w .+@=-]{0,59}")
RESERVED = frozenset({"sample", "sample-texts"})
"""Names that mean something by themselves."""

LIKE_A_KEY = re.compile(r"(data|ranker|scores|study|examination)-[0-9a-f]{16,64}")
MOST_BYTES = 4096


def check(name: str) -> None:
    """Refuse what cannot be a name.

    Raises:
        ParameterError: it cannot be a file name, means something by itself, or looks like a key.
    """
    if not NAME.fullmatch(name):
        raise ParameterError("name", name, "1 to 60 letters, digits, blanks and . _ + @ = -")
    if name in RESERVED or LIKE_A_KEY.fullmatch(name):
        raise ParameterError("name", name, "one that means nothing yet (no key, no sample)")


def key_named(path: Path) -> ArtefactKey:
    """The key that a name's file says.

    Raises:
        FileNotFoundError: it is gone.
        ArtefactError: it is damaged, or no file.
    """
    try:
        check(path.name)
        entry = plain_json.read_json(path, MOST_BYTES)
        return ArtefactKey(entry["kind"], entry["digest"])
    except FileNotFoundError:
        raise
    except OSError as error:
        finding = f"it cannot be read ({error.strerror})"
    except ParameterError as error:
        finding = str(error)
    except (ValueError, TypeError, KeyError):
        finding = "it does not say a key"
    remedy = "Remove it with `shuffleproof library clean --yes`, then name the entry again."
    raise ArtefactError(f"name {path.name}", finding, remedy)


def names_in(root: Path) -> dict[str, ArtefactKey]:
    """Keys by name in one root, without damaged ones (see `core.store.damaged_entries`)."""
    keys = {}
    for path in (root / "names").glob("*"):
        with suppress(FileNotFoundError, ArtefactError):
            keys[path.name] = key_named(path)
    return keys

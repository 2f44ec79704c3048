"""What every kind of job shares: a data set opened as a workbench, and how it answers."""

from collections.abc import Generator, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from core.progress import Progress
from core.store.artefacts import Store
from core.store.keys import ArtefactKey
from core.store.manifest import Artefact

if TYPE_CHECKING:
    from core.rankers.initial import ListRecipe
    from core.studies.workbench import Workbench

SAMPLE = "sample"
Lists = Mapping[str, Any] | None
Reports = Generator[Progress, None, Any]


def opened(
    store: Store, data: str, lists: Lists, preset: str | None, pinned: str | None
) -> Generator[Progress, None, "Workbench"]:
    """The workbench of a data set.

    Args:
        store: where everything is kept.
        data: a stored name or `sample`.
        lists: fields of ListRecipe that differ from its default.
        preset: preset of rankers named without one.
        pinned: the data set's key.
    """
    from core.studies.workbench import Workbench  # noqa: PLC0415 (only who works pays for it)

    preset = preset or preset_of(data)
    found = yield from Workbench.opened(pinned or data, recipe_of(lists, preset), store, preset)
    return replace(found, name=data)


def recipe_of(lists: Lists, preset: str) -> "ListRecipe":
    """How lists are made: by LambdaMART of the preset, with the fields that differ."""
    from core.rankers.initial import ListRecipe  # noqa: PLC0415 (only who works pays for it)

    fields = asdict(ListRecipe(initial=(f"lambdamart@{preset}",))) | dict(lists or {})
    fields["initial"] = tuple(fields["initial"])
    return ListRecipe(**fields)


def preset_of(data: str) -> str:
    """The preset of rankers that are named without one."""
    return "small" if data == SAMPLE else "paper"


def answer(artefact: Artefact) -> dict[str, Any]:
    """A job's result that is an artefact."""
    return {"artefact": text_of(artefact.key)}


def text_of(key: ArtefactKey) -> str:
    """A key with its whole digest."""
    return f"{key.kind}-{key.digest}"

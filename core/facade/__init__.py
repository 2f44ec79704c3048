"""Shuffleproof as a library: `import shuffleproof as sp`, then `sp.open("sample")`.

`open` and `ingest` give an object whose methods are the studies; `ask` answers a question.
`open_collection` and `open_preferences` do so for text collections and preferences between pairs.
Names are loaded on first use, so that importing the package loads nothing.
The question of every kind of study is among it, by its own name.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers: everything below is loaded on first use
    from shuffleproof.core.gate.boards import leaderboard as leaderboard
    from shuffleproof.core.metrics.user_measures import measure as measure
    from shuffleproof.core.perturb.user_families import perturbation as perturbation
    from shuffleproof.core.progress import run_to_end as run_to_end
    from shuffleproof.core.rankers.name import RankerName as RankerName
    from shuffleproof.core.rankers.outside.user_rankers import ranker as ranker
    from shuffleproof.core.studies.result import StudyResult as StudyResult
    from shuffleproof.core.studies.workbench import Workbench as Workbench
    from shuffleproof.judging import judge as judge
    from shuffleproof.labs import ingest_collection as ingest_collection
    from shuffleproof.labs import ingest_preferences as ingest_preferences
    from shuffleproof.labs import ingest_reranks as ingest_reranks
    from shuffleproof.labs import open_collection as open_collection
    from shuffleproof.labs import open_preferences as open_preferences
    from shuffleproof.labs import open_reranks as open_reranks
    from shuffleproof.labs import reranker as reranker
    from shuffleproof.published import which as which
    from shuffleproof.result import Result as Result
    from shuffleproof.studies import Studies as Studies
    from shuffleproof.studies import ask as ask
    from shuffleproof.studies import ingest as ingest
    from shuffleproof.studies import open as open  # noqa: A004 (as the package has it)

STUDIES = "shuffleproof.core.studies"
PLACES = {
    "open": "shuffleproof.studies",
    "ingest": "shuffleproof.studies",
    "ask": "shuffleproof.studies",
    "judge": "shuffleproof.judging",
    "open_collection": "shuffleproof.labs",
    "ingest_collection": "shuffleproof.labs",
    "open_preferences": "shuffleproof.labs",
    "open_reranks": "shuffleproof.labs",
    "ingest_preferences": "shuffleproof.labs",
    "ingest_reranks": "shuffleproof.labs",
    "reranker": "shuffleproof.labs",
    "leaderboard": "shuffleproof.core.gate.boards",
    "which": "shuffleproof.published",
    "Studies": "shuffleproof.studies",
    "Result": "shuffleproof.result",
    "Workbench": f"{STUDIES}.workbench",
    "RankerName": "shuffleproof.core.rankers.name",
    "run_to_end": "shuffleproof.core.progress",
    "StudyResult": f"{STUDIES}.result",
    "measure": "shuffleproof.core.metrics.user_measures",
    "perturbation": "shuffleproof.core.perturb.user_families",
    "ranker": "shuffleproof.core.rankers.outside.user_rankers",
}
"""What a script asks for beside questions, and the module that has it."""


def __getattr__(name: str) -> Any:
    """One of the names above, or a question, loaded now."""
    if name == "testing":  # `from shuffleproof import testing` asks here first
        return import_module("shuffleproof.testing")
    if name == "__version__":
        return import_module("importlib.metadata").version("shuffleproof")
    if name in PLACES:
        return getattr(import_module(PLACES[name]), name)
    if name.startswith("_") or name not in (questions := _questions()):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return questions[name]


def __dir__() -> list[str]:
    """The names above, and the questions."""
    return sorted([*PLACES, *_questions()])


def _questions() -> dict[str, Any]:
    registry = import_module(f"{STUDIES}.registry")
    return {question.__name__: question for question in registry.EVERY.values()}

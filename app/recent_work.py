"""Recent studies and trained rankers, each with its main number and address."""

from dataclasses import dataclass, field
from datetime import datetime

from shuffleproof.app import proposals, services, state
from shuffleproof.app.study import sample_result
from shuffleproof.app.study_access import compute, place
from shuffleproof.app.when import age_in_words
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers import named_presets, registry
from shuffleproof.core.store.manifest import Artefact


@dataclass(frozen=True)
class RecentWork:
    """One piece of work.

    Attributes:
        page: path of the page that shows it; empty: no page.
        title: description; empty: the title of its page.
        data: name of the data set; empty if it is no longer stored.
        age: in words.
        number: main result, in words.
        address: query parameters of the page.
    """

    page: str
    title: str
    data: str
    age: str
    number: str
    address: dict[str, str] = field(default_factory=dict)


def recent_work(count: int) -> list[RecentWork]:
    """Latest studies and rankers made here, newest first.

    Parts of a cross-fitting, trials of searches, and rankers that learn nothing are left out.
    """
    root, searched = services.store().root, named_presets.searched_rankers(services.store())
    trials = {key for key, (_, trial) in searched.items() if trial is not None}
    artefacts = [
        artefact
        for kind in ("study", "ranker")
        for artefact in services.artefacts(kind)
        if artefact.path.is_relative_to(root)
        and (kind == "study" or _is_whole(artefact))
        and str(artefact.key) not in trials
    ]
    artefacts.sort(key=lambda artefact: artefact.created, reverse=True)
    return [_study(one) if one.key.kind == "study" else _ranker(one) for one in artefacts[:count]]


def _is_whole(ranker: Artefact) -> bool:
    entry = registry.RANKERS.get(ranker.recipe["ranker"]["name"])
    learns = entry is None or entry.learns  # external rankers have no entry
    return learns and "without part" not in str(ranker.recipe.get("lists"))


def _study(artefact: Artefact) -> RecentWork:
    kind, key = str(artefact.recipe["kind"]), str(artefact.key)
    data = str(artefact.facts.get("data", ""))
    number = _headline(key)
    path, address = place(artefact)
    title = "" if path == kind else kind.replace("-", " ").capitalize()
    return RecentWork(path, title, data, _age(artefact), number, address)


def _ranker(artefact: Artefact) -> RecentWork:
    valid = artefact.facts.get("valid", {}).get("NDCG@10")
    number = "" if valid is None else f"validation NDCG@10 {valid:.3f}"
    data = _trained_on(str(artefact.key))
    address = {state.USE: data} if data else {}
    name = str(artefact.facts.get("name") or artefact.recipe["ranker"]["name"])
    return RecentWork("train", f"{name} trained", data, _age(artefact), number, address)


def _age(artefact: Artefact) -> str:
    return age_in_words(datetime.fromisoformat(artefact.created).timestamp())


def _trained_on(key: str) -> str:
    """Name of the data set that a ranker was fitted on; empty if it is not stored."""
    for name in state.data_sets():
        if any(ranker.key == key for ranker in proposals.trained_rankers(name)):
            return name
    return ""


def _headline(key: str) -> str:
    try:
        result = compute(key, sample_result.headline)
    except ShuffleproofError:
        return ""
    return result.text

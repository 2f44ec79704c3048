"""Recent studies and trained rankers, each with its main number and address."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from shuffleproof.app import proposals, services, state
from shuffleproof.app.study_access import compute, place
from shuffleproof.app.when import age_in_words
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers import named_presets, registry
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.initial_rankings import sections as initial_rankings
from shuffleproof.core.studies.kinds.invariance.certificate import certificates
from shuffleproof.core.studies.kinds.invariance.verdict import INCONCLUSIVE
from shuffleproof.core.studies.kinds.set_size import sections as set_size
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import counted, signed


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
    number = _number(key, kind)
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
    created = datetime.fromisoformat(artefact.created)
    return age_in_words((datetime.now(UTC) - created).total_seconds())


def _trained_on(key: str) -> str:
    """Name of the data set that a ranker was fitted on; empty if it is not stored."""
    for name in state.data_sets():
        if any(ranker.key == key for ranker in proposals.trained_rankers(name)):
            return name
    return ""


@services.until_stored()  # a study may be removed and made again
def _number(key: str, kind: str) -> str:
    """Main result of a study in words; empty for kinds without one."""
    try:
        if kind == "invariance":
            return _invariant_rankers(key)
        if kind in {"set-size", "initial-rankings"}:
            return _verdict(key, kind)
        return _fall(key) if kind == "initial-ranking" else ""
    except ShuffleproofError:
        return ""


def _invariant_rankers(key: str) -> str:
    cards = compute(key, certificates)
    words = f"{sum(card.invariant for card in cards)} of {counted(len(cards), 'ranker')} invariant"
    inconclusive = sum(card.verdict == INCONCLUSIVE for card in cards)
    return words + (f", {inconclusive} inconclusive" if inconclusive else "")


def _verdict(key: str, kind: str) -> str:
    """Verdict on the claim of the paper's table; empty if the study gives none."""
    measure = str(services.store().resolve(key, "study").recipe["measures"][0])
    if kind == "set-size":
        word = compute(key, set_size.claim, measure).get("verdict", "")
        return f"the claim of Table 3: {word}" if word else ""
    claim = compute(key, initial_rankings.claim, measure)
    return f"the claim of Table 4: {claim.word}" if claim else ""


def _fall(key: str) -> str:
    """Ranker with the largest loss at the last level of the first family, with the loss."""
    measure = str(services.store().resolve(key, "study").recipe["measures"][0])
    summary = compute(key, StudyResult.summary, [measure])
    family = summary.family.iloc[0]
    of_family = summary[summary.family == family]
    means = of_family[of_family.ranker != INITIAL].pivot_table(
        index="ranker", columns="level", values="mean"
    )
    levels = list(dict.fromkeys(of_family.level))
    if means.empty or len(levels) < 2:
        return ""
    change = means[levels[-1]] - means[levels[0]]  # input order of levels: unchanged first
    return f"{change.idxmin()} {signed(change.min())} {measure} at {levels[-1]:g} {family}"

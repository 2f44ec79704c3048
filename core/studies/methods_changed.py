"""What a stored study does to its input, to the training, or to how rankers are asked, in words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shuffleproof.core.perturb.registry import PERTURBATIONS, entry_of
from shuffleproof.core.perturb.system import BATCHES, BFLOAT16, ORDER, SEED, THREADS
from shuffleproof.core.studies.kinds.perturbations import sections as perturbations_notes
from shuffleproof.core.words import counted

ASKED = {
    BFLOAT16: "networks score in bfloat16 instead of float32",
    BATCHES: "lists are scored in a random succession, {levels} at a time",
    THREADS: "networks score with {levels} threads",
}
"""What is done in families that leave lists and rankers as they are."""


def changed(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """What a study does, as a paper would say it; empty where it changes nothing.

    Args:
        recipe: of the study.
        facts: of the study, as its result carries them.
    """
    kind = recipe["kind"]
    if kind == "set-size":
        return _sizes(recipe)
    if kind == "initial-rankings":
        return _swapped(recipe, facts)
    if kind == "attention":
        return _recorded(recipe)
    if kind == "worst-case":
        return _searched(recipe)
    if kind == "group-shuffles":
        return _groups(recipe)
    levels: dict[str, list[float]] = {}
    for family, level in recipe.get("perturbations", ()):
        levels.setdefault(str(family), []).append(float(level))
    said = [_disturbed(levels, recipe), _trained(levels, recipe), _asked(levels, recipe)]
    if kind == "perturbations":
        said.append(perturbations_notes.left_out(facts, levels))
    return " ".join(filter(None, said))


def _disturbed(levels: Mapping[str, Sequence[float]], recipe: Mapping[str, Any]) -> str:
    """The families that change what rankers are asked."""
    own = {name: found for name, found in levels.items() if entry_of(name).of_input}
    same = "; all rankers see the same draws" if own and "draws" in recipe else ""
    return f"Lists are disturbed by {_told(own)}{_draws(own, recipe)}{same}." if own else ""


def _trained(levels: Mapping[str, Sequence[float]], recipe: Mapping[str, Any]) -> str:
    """The families that train rankers again; lists and judgments of the test stay."""
    labels = {name: own for name, own in levels.items() if "labels" in entry_of(name).changes}
    said = []
    if labels:
        said.append(
            f"Rankers are trained again on training labels disturbed by {_told(labels)}"
            f"{_draws(labels, recipe)}; the labels that they are selected and tested on stay."
        )
    if SEED in levels:
        said.append(
            "Rankers are trained again with other seeds, from which first weights, batches, "
            f"dropout and sampling are drawn{_draws({SEED: ()}, recipe)}; lists and labels stay."
        )
    if ORDER in levels:
        said.append(
            "Rankers are trained again on the same training rows in another order, of queries and "
            "of documents within them, and those that learn from rows in a canonical order "
            "(boosted trees, thresholds and linear rankers: one that depends on the rows' content "
            f"alone) take them as they come{_draws({ORDER: ()}, recipe)}; the rankers that they "
            "are compared with learnt from the canonical order, or from that of the file."
        )
    return " ".join(said)


def _asked(levels: Mapping[str, Sequence[float]], recipe: Mapping[str, Any]) -> str:
    """The families that ask the same rankers about the same lists in another way."""
    told = [
        words.format(levels=listed([level for level in levels[name] if level]))
        + (_draws({name: ()}, recipe) if name == BATCHES else "")
        for name, words in ASKED.items()
        if name in levels and any(levels[name])
    ]
    if not told:
        return ""
    return (
        f"To see what arithmetic alone does, with lists and rankers unchanged: {'; '.join(told)}."
    )


def _told(levels: Mapping[str, Sequence[float]]) -> str:
    return "; ".join(f"{name}{_what(name)} at {listed(own)}" for name, own in levels.items())


def _draws(names: Iterable[str], recipe: Mapping[str, Any]) -> str:
    """How often something is drawn, where anything is.

    >>> _draws(["mallows"], {"draws": 3, "seed": 2}), _draws(["cut"], {"draws": 3, "seed": 2})
    (', 3 draws each, seed 2', '')
    >>> _draws(["mallows", "cut"], {"draws": 1, "seed": 2})
    ', 1 draw each where anything is drawn, seed 2'
    """
    drawn = [entry_of(name).random for name in names]
    if "draws" not in recipe or not any(drawn):
        return ""
    where = "" if all(drawn) else " where anything is drawn"
    return f", {counted(recipe['draws'], 'draw')} each{where}, seed {recipe['seed']}"


def _sizes(recipe: Mapping[str, Any]) -> str:
    trained = sorted({row["size"] for row in recipe["rows"] if row["size"] is not None})
    first = f"Rankers of lists are trained on {listed(trained)} candidates; " if trained else ""
    tested = f"all are tested on {listed(recipe['sizes'])}"
    text = f"{first}{tested} candidates, and a list with fewer documents stays as it is."
    return f"{text[:1].upper()}{text[1:]}"


def _swapped(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    swaps = recipe["initial"][len(facts.get("lists", {}).get("initial", ())) :]
    text = "At test time initial rankings are left out one by one and all together"
    text += f", and the first is exchanged for {listed(swaps)}" if swaps else ""
    return f"{text}; candidates and the order shown stay the same."


def _recorded(recipe: Mapping[str, Any]) -> str:
    return (
        f"The attention weights (for DLCM the gates) from which the scores of {recipe['queries']} "
        f"test {'list is' if recipe['queries'] == 1 else 'lists are'} computed are recorded on "
        "request. Kept are, for every head and list, its entropy and effective neighbours (the "
        "exponential of the entropy), the mass that relevant documents get beside that of chance, "
        "and how alike the heads of a block are; an induced point is dead where it gets less than "
        f"{recipe['dead_below']:g} times its fair share. Means are over lists, with 95 % intervals "
        "by Student's t."
    )


def _searched(recipe: Mapping[str, Any]) -> str:
    search = recipe["search"]
    budgets = listed(recipe["budgets"])
    shown = "the order shown" if recipe["target"] == "shown" else "the initial ranking"
    return (
        f"The order that hurts most within {budgets} {search['unit']} of {shown} is looked for "
        f"by {search['method']} search, and compared with "
        f"{counted(recipe['draws'], 'random order')} of the same budget (seed {recipe['seed']}); "
        "a ranker that is invariant is certified with 0."
    )


def _groups(recipe: Mapping[str, Any]) -> str:
    """How a study of GSF's shuffles asks, and what it fits."""
    _, _, fixed = str(recipe["measures"][1]).partition("under ")
    reference = f"{fixed or max(recipe['shuffles'])} shuffles"
    return (
        f"Groups are formed from S = {listed(recipe['shuffles'])} shuffles of each list. Each "
        f"list is scored in {counted(recipe['orders'], 'random order')} beside its own (seed "
        f"{recipe['seed']}); the root mean square change of a document's score is divided by the "
        f"deviation of its list's scores under {reference}. The slope is fitted by least "
        "squares on logarithms, with Student's interval; intervals of means are 95 % BCa bootstrap "
        "intervals over queries."
    )


def _what(family: str) -> str:
    entry = PERTURBATIONS.get(family)
    if entry is None:
        return ""
    summary = entry.summary.rstrip(".")
    return f" ({summary[:1].lower()}{summary[1:]}; unit: {entry.unit})"


def listed(values: Sequence[Any]) -> str:
    """Values as people list them.

    >>> listed([5.0, 10, "oracle"]), listed([40])
    ('5, 10 and oracle', '40')
    """
    texts = [f"{value:g}" if isinstance(value, int | float) else str(value) for value in values]
    return f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else "".join(texts)

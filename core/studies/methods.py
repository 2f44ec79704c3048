"""Methods paragraph and references of a stored study.

Sentences come from the recipe and the facts. References come from the sources in the registries of
rankers, perturbations and measures.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shuffleproof.core.errors import UsageError
from shuffleproof.core.metrics.measure import Measure, is_measure
from shuffleproof.core.parameters import parameters, text_of
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.perturb.user_families import user_entry
from shuffleproof.core.rankers.name import FILES, Kind, RankerName, display_names
from shuffleproof.core.rankers.registry import RANKERS
from shuffleproof.core.studies.kinds.benchmark.outside_runs import is_of_runs
from shuffleproof.core.studies.listless.retrievers import sources
from shuffleproof.core.studies.question import flag_of
from shuffleproof.core.studies.registry import COLLECTION_STUDIES, EVERY, PREFERENCE_STUDIES
from shuffleproof.core.words import counted, listed

BOOTSTRAP, HOLM = "Efron & Tibshirani 1993", "Holm 1979"
YEAR = re.compile(r"(18|19|20)\d\d")


def paragraph(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Methods of a stored study: data, lists, rankers, perturbations, measures, tests.

    Args:
        recipe: of the study.
        facts: of the study, as in its result.

    >>> recipe = {"kind": "initial-ranking", "rankers": [["initial ranking", ""], ["dlcm", "d"]],
    ...           "perturbations": [["shuffle", 0.0], ["shuffle", 0.5]], "draws": 3, "seed": 0,
    ...           "measures": ["NDCG@10"]}
    >>> print(paragraph(recipe, {"data": "mine", "queries": 9, "preset": "small"})[:68])
    All rankers are measured on the 9 test queries of the data set mine.
    """
    sentences = [
        _of_runs(recipe, facts) if is_of_runs(recipe) else _data(recipe, facts),
        _lists(recipe, facts),
        _rankers(recipe, facts),
        settings(recipe, facts),
        *_measures(recipe),
        _tests(recipe, facts),
    ]
    return " ".join(filter(None, sentences))


def references(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """Sources of the paragraph with a year, sorted, without repetition.

    >>> references({"kind": "benchmark", "rows": [{"label": "mart@small", "seeds": 1}]}, {})[0]
    'Friedman 2001'
    """
    parts = {part.strip() for source in _sources(recipe, facts) for part in source.split(";")}
    return sorted(part for part in parts if YEAR.search(part))


def rankers_of(recipe: Mapping[str, Any]) -> list[str]:
    """Labels of the rankers of any study, without the references."""
    labels = [str(pair[0]) for pair in recipe.get("rankers", ()) if not isinstance(pair, str)]
    labels += [str(row["label"]) for row in recipe.get("rows", ())]
    if is_of_runs(recipe):
        return [str(name) for name in recipe["runs"]]
    return [label for label in dict.fromkeys(labels) if not RankerName.of(label).is_reference]


def _data(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    queries = facts.get("queries")
    tested = f"the {counted(queries, 'test query')}" if queries else "the test queries"
    if "of_queries" in facts:
        tested = f"the first {queries:,} of {counted(facts['of_queries'], 'test query')}"
    if recipe["kind"] in COLLECTION_STUDIES:
        judged_queries = tested.replace("test queries", "judged queries")
        return (
            f"Retrievers are measured on {judged_queries} of the text collection {facts['data']}."
        )
    if recipe["kind"] in PREFERENCE_STUDIES:
        all_queries = tested.replace("test queries", "queries")
        return f"Orders are made of the preferences of {all_queries} of {facts['data']}."
    folds = facts.get("folds", ())
    over_folds = f", {len(folds)} folds" if isinstance(folds, Sequence) and len(folds) > 1 else ""
    data = f"the data set {facts.get('data', '?')}{over_folds}"
    return f"All rankers are measured on {tested} of {data}."


def _of_runs(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Sentence on the data of runs from files."""
    text = (
        f"Compared are {listed(rankers_of(recipe))}, runs in TREC form, on the "
        f"{counted(facts['queries'], 'topic')} that {facts['data']} judges. Scores decide, not "
        "the column of ranks; unjudged documents are not relevant, and a topic that a run lacks "
        "counts as an empty answer"
    )
    lacking = [f"{name} lacks {count}" for name, count in facts["missing"].items() if count]
    unjudged_counts = {name: count for name, count in facts.get("unjudged", {}).items() if count}
    unjudged = [f"{counted(count, 'topic')} of {name}" for name, count in unjudged_counts.items()]
    left_out = f"; without judgments and left out: {listed(unjudged)}" if unjudged else ""
    return f"{text}{f' ({listed(lacking)})' if lacking else ''}{left_out}."


def _lists(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    lists = facts.get("lists")
    if not isinstance(lists, Mapping) or "initial" not in lists:
        return ""
    ranked_by, *carried = (RankerName.of(name).display for name in lists["initial"])
    top = f"the top {lists['depth']}" if lists.get("depth") else "all"
    top = "the top N1" if recipe["kind"] == "set-size" else top
    text = f"Candidate lists hold {top} documents by {ranked_by}"
    text += f" and carry the rankings by {', '.join(carried)} too" if carried else ""
    if lists.get("scores") == "cross-fitted":
        text += f"; its scores of training queries are cross-fitted over {lists['folds']} folds"
    elif lists.get("scores"):
        text += "; its scores of training queries are its own in-sample ones"
    return f"{text}."


def _rankers(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    labels = rankers_of(recipe)
    names = display_names(labels)
    texts = [f"{names[label]}{_description(label)}" for label in labels]
    if not texts or is_of_runs(recipe):
        return ""
    preset = f", default preset {facts['preset']}" if "preset" in facts else ""
    seeds = max((int(row["seeds"]) for row in recipe.get("rows", ())), default=1)
    trained = f"; random trainings use {seeds} seeds" if seeds > 1 else ""
    if "ranker" in facts:  # an ablation compares variants of one
        ranker = str(facts["ranker"])
        name = RankerName.of(ranker).display
        return f"Compared are variants of {name}{_description(ranker)}: {'; '.join(texts)}."
    return f"Compared are {'; '.join(texts)}{preset}{trained}."


def _description(label: str) -> str:
    name = RankerName.of(label)
    if name.kind is Kind.OBJECT:
        return " (user code)"
    if name.kind is Kind.FUNCTION:
        return " (a Python function in a separate process)"
    if name.kind is Kind.ENDPOINT:
        return " (a reranker behind HTTP)"
    if name.is_from_outside:
        return f" ({FILES[name.head].description}, imported)"
    entry = RANKERS.get(name.base)
    return f" ({entry.summary}; {entry.source})" if entry else ""


def _measures(recipe: Mapping[str, Any]) -> list[str]:
    texts = _effectiveness_measures(recipe)
    if not texts:
        return []
    measure = Measure.parse(texts[0])
    in_all = f" ({len(texts)} in all: {', '.join(texts)})" if len(texts) > 1 else ""
    return [f"Effectiveness is {measure.convention()}{in_all}."]


def _effectiveness_measures(recipe: Mapping[str, Any]) -> list[str]:
    """Effectiveness measures of a study; other stored values have lower-case names."""
    return [str(text) for text in recipe.get("measures", ()) if is_measure(str(text))]


def _tests(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    if recipe["kind"] == "invariance":
        return (
            "A change counts where it exceeds what rounding explains, list by list, or where a "
            "sign test shows that it follows the input order. The share of random orders that "
            "change a ranking has a one-sided 95 % Clopper-Pearson bound. Orders by rule: "
            f"{', '.join(facts.get('orders', ()))}."
        )
    if not _effectiveness_measures(recipe):
        return ""
    intervals = "Intervals of means are 95 % BCa bootstrap intervals over queries"
    if not _is_tested(recipe):
        return f"{intervals}."
    return (
        f"{intervals}; differences are tested by paired t tests over queries, adjusted by Holm "
        "where there are several; an interval beside such a test is Student's, adjusted alike."
    )


def _is_tested(recipe: Mapping[str, Any]) -> bool:
    """True if a study of this kind tests differences."""
    kind = EVERY.get(recipe["kind"])
    return kind is not None and kind.tested


def _sources(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterable[str]:
    lists = facts.get("lists")
    initial = lists.get("initial", ()) if isinstance(lists, Mapping) else ()
    for label in (*rankers_of(recipe), *initial, str(facts.get("ranker", ""))):
        if (base := RankerName.of(label).base) in RANKERS:
            yield RANKERS[base].source
    for name in recipe.get("retrievers", ()):
        yield from sources(name)
    for family, _ in recipe.get("perturbations", ()):
        if family in PERTURBATIONS:
            yield PERTURBATIONS[family].source
    for text in _effectiveness_measures(recipe):
        yield Measure.parse(text).entry.source
    if recipe["kind"] in EVERY and not is_of_runs(recipe):
        yield EVERY[recipe["kind"]].source
    if _effectiveness_measures(recipe):
        yield f"{BOOTSTRAP}; {HOLM}" if _is_tested(recipe) else BOOTSTRAP


def settings(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Perturbations of a study with levels and draws, or else the settings of its question.

    >>> settings({"kind": "card", "perturbations": [["mine:x", 0.5]], "draws": 2, "seed": 3}, {})
    'Perturbations: mine:x at 0.5; draws: 2, seed: 3, the same for all rankers.'
    """
    levels: dict[str, list[float]] = {}
    for family, level in recipe.get("perturbations", ()):
        levels.setdefault(str(family), []).append(float(level))
    if levels:
        families = "; ".join(
            f"{name}{_family_in_words(name)} at {listed(values)}" for name, values in levels.items()
        )
        draws = f"draws: {recipe['draws']}, seed: {recipe['seed']}, the same for all rankers"
        return f"Perturbations: {families}; {draws}."
    kind = EVERY.get(recipe["kind"])
    if kind is None or is_of_runs(recipe):
        return ""
    try:
        question = kind.of(recipe, facts)
    except (UsageError, LookupError):  # an old study lacks some settings
        return ""
    values = {
        flag_of(field): getattr(question, field.name)
        for field in parameters(question)
        if field.names not in {"rankers", "measures"}
    }
    parts = [
        f"{name}: {_value_in_words(value)}"
        for name, value in values.items()
        if value not in (None, ())
    ]
    return f"Question: {kind.title} Settings: {'; '.join(parts)}." if parts else ""


def _value_in_words(value: Any) -> str:
    parts = value.values() if isinstance(value, Mapping) else [value]
    return " ".join(map(text_of, parts))


def _family_in_words(family: str) -> str:
    entry = PERTURBATIONS.get(family) or user_entry(family)
    if entry is None:
        return ""
    summary = entry.summary.rstrip(".")
    return f" ({summary[:1].lower()}{summary[1:]}; unit: {entry.unit})"

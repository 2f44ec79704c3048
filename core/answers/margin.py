"""One document above another: how features and other documents of the list bring it there.

The value explained is the margin, the difference of the two scores. The effect of another document
is the margin minus the margin after its removal. The effect of a feature is its Shapley value:
where it is absent, both documents have the list's mean of it, at their places and ranks, and the
other documents stay unchanged. Only scores of lists are used, so any ranker can be explained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float32, Float64, Int64, Shaped

from shuffleproof.core.answers.document_changes import DocumentChanges
from shuffleproof.core.answers.scoring import list_for, ranker_for
from shuffleproof.core.answers.shown_order import document_names
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError, ParameterError
from shuffleproof.core.experiment.score_floor import measure_floor, numeric_scores
from shuffleproof.core.metrics import shapley
from shuffleproof.core.metrics.agreement import positions
from shuffleproof.core.perturb.features import moments, with_features
from shuffleproof.core.perturb.sets import restrict
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.seeds import generator
from shuffleproof.core.words import counted, listed, number

CELLS = 2**22
"""Feature cells that a ranker scores in one call, at most."""

NAMED = 3
"""Documents that a sentence names."""

Pair = Int64[np.ndarray, " pair"]
"""Places of two documents in a list, the one with the higher score first."""


@dataclass(frozen=True, eq=False, repr=False)
class Margin:
    """Why a ranker puts one document above another; its text explains it in sentences.

    Attributes:
        ranker: its name.
        above: the document with the higher score.
        below: the other one.
        margin: difference of their scores.
        rounding: part of it that arithmetic may explain.
        rest: margin if both documents have the list's mean of every feature.
        alone: other documents play no part, by declaration and in every removal.
        features: `feature`, `effect` (the largest first) and its 95 % interval `low` to `high`.
        documents: `document`, `effect` (the largest first), and `swaps`: without it, the pair is
            swapped.
    """

    ranker: str
    above: str
    below: str
    margin: float
    rounding: float
    rest: float
    alone: bool
    features: pd.DataFrame
    documents: pd.DataFrame

    def __repr__(self) -> str:
        """The explanation in sentences."""
        name = RankerName.of(self.ranker).display
        if self.margin <= self.rounding:
            return f"{name} ties {self.above} and {self.below}: rounding explains the margin."
        margin = number(self.margin, ".3g")
        text = f"{name} ranks {self.above} above {self.below} by {margin}{self._company()}"
        text += _most("Of the features, {} contributes most: {}.", self.features)
        if len(self.features) and abs(self.rest) > self.rounding:
            text += f" With equal features the margin is {number(self.rest, '.3g')}."
        return text

    def _company(self) -> str:
        if self.alone:
            return ". No other document plays a part: it scores each document alone."
        swapping = self.documents.loc[self.documents["swaps"], "document"].tolist()
        if not swapping:
            most = _most("Of the others, {} contributes most: {}.", self.documents)
            return f". No other document alone decides it.{most}"
        named = swapping[:NAMED]
        if len(swapping) > NAMED:
            named.append(counted(len(swapping) - NAMED, "other"))
        without = swapping[0] if len(swapping) == 1 else "any one of them"
        reason = f"{listed(named)} in the list: without {without}, {self.below} would lead"
        return f" because of {reason}."


def _most(sentence: str, effects: pd.DataFrame) -> str:
    """Sentence on the largest effect; empty if none is above 0."""
    if not len(effects) or not effects["effect"].max() > 0:
        return ""
    most: Any = effects.iloc[effects["effect"].argmax()]
    return f" {sentence.format(most.iloc[0], number(most['effect'], '+.3g'))}"


def explain(
    ranker: Ranker,
    judged: JudgedLists,
    pair: Sequence[int] = (),
    groups: Mapping[str, Sequence[int]] | None = None,
    *,
    names: Sequence[str] = (),
) -> Margin:
    """Explain why a ranker puts one document of a list above another.

    Args:
        ranker: anything that scores.
        judged: one list, in its input order.
        pair: places of two documents in the list. One: it and the next one of the ranking. None:
            the first two of the ranking.
        groups: ids of features by name of their group; other features are groups of their own.
        names: of the documents; by default their ids.

    Raises:
        DataError: fewer than two documents, or a score that is not finite.
        ParameterError: no such documents or features.
    """
    dataset, lists = judged.dataset, judged.lists
    query = dataset.query_ids[int(lists.queries[0])]
    names = names or document_names(dataset.doc_ids, lists.rows)
    if len(names) < 2:
        raise DataError(f"query {query!r}", "its list has a single document", "Choose another.")
    scores = _scores(ranker, judged)
    if len(pair) > 2 or len({*pair}) < len(pair):
        chosen = listed([str(names[place]) for place in pair])
        raise ParameterError("documents", chosen, "two different documents of the list")
    at = _pair(positions(lists.offsets, scores, lists.rows), pair)
    margin = float(scores[at[0]] - scores[at[1]])
    doubt = float(measure_floor(ranker, judged, scores)[0].doubt[at].sum())
    removals = _removal_effects(ranker, judged, at)
    alone = not {"neighbours", "order"} & set(ranker.reads)
    alone = alone and bool((np.abs(removals) <= doubt).all())
    others = np.delete(np.array(names, dtype=object), at)
    documents = pd.DataFrame({"document": others, "effect": np.where(alone, 0.0, removals)})
    documents["swaps"] = removals > margin + doubt
    labels, reads_features = _group_names(judged, groups), "features" in ranker.reads
    mean = moments(dataset.features[lists.rows].astype(np.float64))[0].astype(np.float32)
    # Groups of equal cells have no effect, and cost nothing
    differs = (dataset.features[lists.rows[at]] != mean).any(axis=0) & reads_features
    players = [*dict.fromkeys(labels[differs])]
    members = labels == np.array(players, dtype=object)[:, None]

    def game(takes_part: Bool[np.ndarray, "lists groups"]) -> Float64[np.ndarray, " lists"]:
        return _margins(ranker, judged, at, takes_part @ members, mean)

    values = (
        shapley.exact(game, len(players)) if len(players) <= shapley.EXACT
        else shapley.sampled(game, len(players), generator(0, "shapley", query))
    )  # fmt: skip
    effects = values.effects + np.outer([0, -1, 1], values.half_widths)
    features = pd.DataFrame(effects.T, players, ["effect", "low", "high"])
    features = features.reindex([*dict.fromkeys(labels)] if reads_features else [], fill_value=0.0)
    features = features.rename_axis("feature").reset_index()
    features, documents = (
        frame.sort_values("effect", key=np.abs, ascending=False, kind="stable", ignore_index=True)
        for frame in (features, documents)
    )
    above, below = names[at[0]], names[at[1]]
    return Margin(
        ranker.name, above, below, margin, doubt, values.empty, alone, features, documents
    )


def explain_pair(item: Mapping[str, Any]) -> dict[str, Any]:
    """Explanation of a pair of a list in plain values, for the resident process.

    Args:
        item: `store`, `data`, `recipe`, `query`, `ranker` (artefact key), `order` and `changes` as
            in `scoring.score_query`, `pair` (two documents) and `names` (of all documents).
    """
    changes, order = DocumentChanges.parse(item["changes"]), item["order"]
    arranged = changes.arranged(order, len(order))
    answer = explain(
        ranker_for(item), changes.of(list_for(item), order), [*map(arranged.index, item["pair"])],
        names=[item["names"][document] for document in arranged],
    )  # fmt: skip
    tables = {name: getattr(answer, name).to_dict("list") for name in ("features", "documents")}
    return vars(answer) | tables


def _margins(
    ranker: Ranker,
    judged: JudgedLists,
    pair: Pair,
    present: Bool[np.ndarray, "lists features"],
    mean: Float32[np.ndarray, " features"],
) -> Float64[np.ndarray, " lists"]:
    """Margins of a pair with some of its features, and the mean of the others."""
    dataset, lists = judged.dataset, judged.lists
    query = int(lists.queries[0])
    first, size = int(dataset.offsets[query]), int(np.diff(dataset.offsets)[query])
    at_once = max(1, CELLS // (size * len(mean)))
    if len(present) > at_once:
        parts = np.split(present, range(at_once, len(present), at_once))
        return np.concatenate([_margins(ranker, judged, pair, part, mean) for part in parts])
    # Copies of the list, each with its own rows
    count = len(present)
    copies = lists.select(np.zeros(count, dtype=np.int64))
    shift = np.repeat(np.arange(count) * size, len(lists.rows)) - first
    copies = replace(copies, rows=copies.rows + shift, queries=np.arange(count))
    copied = JudgedLists(dataset.select(np.full(count, query)), copies)
    cells = np.where(present[:, None], dataset.features[lists.rows[pair]], mean)
    rows = copies.rows.reshape(count, -1)[:, pair].ravel()
    changed = with_features(copied, rows, cells.reshape(len(rows), -1).astype(np.float64))
    scores = _scores(ranker, changed).reshape(count, -1)
    return scores[:, pair[0]] - scores[:, pair[1]]


def _removal_effects(
    ranker: Ranker, judged: JudgedLists, pair: Pair
) -> Float64[np.ndarray, " others"]:
    """Effect of each of the other documents on the margin: ranks close up without it."""
    count = len(judged.lists.rows)
    # The last one removes nothing: the whole list is scored with the others, for equal rounding
    removed = np.append(np.delete(np.arange(count), pair), count)[:, None]
    copies = judged.lists.select(np.zeros(len(removed), dtype=np.int64))
    lists = restrict(copies, (np.arange(count) != removed).ravel())
    scores = _scores(ranker, replace(judged, lists=lists))
    places = lists.offsets[:-1, None] + pair - (removed < pair)
    margins = scores[places[:, 0]] - scores[places[:, 1]]
    return np.asarray(margins[-1] - margins[:-1])


def _scores(ranker: Ranker, judged: JudgedLists) -> Float64[np.ndarray, " candidates"]:
    """Finite scores of lists."""
    scores = ranker.score(judged.dataset, judged.lists)
    scores = numeric_scores(ranker, judged.lists, scores).astype(np.float64)
    if not np.isfinite(scores).all():
        remedy = "Give every document a finite score."
        raise DataError(ranker.name, "a score is infinite, so a margin has no value", remedy)
    return scores


def _pair(places: Int64[np.ndarray, " docs"], pair: Sequence[int]) -> Pair:
    """The documents to compare, the higher one first."""
    ranking = np.argsort(places)
    if len(pair) < 2:
        place = min(int(places[pair[0]]) if pair else 0, len(places) - 2)
        pair = ranking[[place, place + 1]].tolist()
    return np.array(sorted(pair, key=lambda at: places[at]), dtype=np.int64)


def _group_names(
    judged: JudgedLists, groups: Mapping[str, Sequence[int]] | None
) -> Shaped[np.ndarray, " features"]:
    """Name of the group of every column."""
    ids, names = judged.dataset.feature_ids, judged.dataset.names
    groups = groups or {}
    group_of = {feature: name for name, members in groups.items() for feature in members}
    if len(group_of) < sum(map(len, groups.values())) or not group_of.keys() <= {*ids}:
        raise ParameterError("groups", groups, "ids of features by name, each id once")
    pairs = zip(ids, names, strict=True)
    return np.array([group_of.get(feature, name) for feature, name in pairs], dtype=object)

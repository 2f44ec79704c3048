"""One document above another: how features and other documents of the list bring it there.

The value explained is the margin, the difference of the two scores. The effect of another document
is the margin minus the margin after its removal. The effect of a feature is its Shapley value:
where it is absent, both documents have the list's mean of it, at their places and ranks, and the
other documents stay unchanged. Only scores of lists are used, so any ranker can be explained.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float32, Float64, Int64

from shuffleproof.core.answers.document_changes import DocumentChanges
from shuffleproof.core.answers.scoring import list_for, ranker_for
from shuffleproof.core.answers.shown_order import document_names
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
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


@dataclass(frozen=True, eq=False)
class Margin:
    """Why a ranker puts one document above another.

    Attributes:
        ranker: its name.
        above: the document with the higher score.
        below: the other one.
        ranks: of both in the ranking, from 1.
        margin: difference of their scores.
        rounding: part of the margin that arithmetic may explain.
        rest: margin where both documents have the list's mean of every feature; the input order,
            initial ranks and the other documents cause it.
        alone: the two scores are the same without the other documents.
        features: groups of features, the largest effect first: `feature`, `effect`, and its 95 %
            interval `low` to `high`, of no width where it is exact.
        documents: other documents, the largest effect first: `document`, `effect`, and without it
            `above_rank`, `below_rank` and whether the two are swapped (`swaps`).
    """

    ranker: str
    above: str
    below: str
    ranks: tuple[int, int]
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
        swapping = self.documents["document"][self.documents["swaps"]].tolist()
        if not swapping:
            most = _most("Of the others, {} contributes most: {}.", self.documents)
            return f". No other document alone decides it.{most}"
        more = len(swapping) - NAMED
        named = listed(swapping[:NAMED] + [counted(more, "other")] * (more > 0))
        without = swapping[0] if len(swapping) == 1 else "any one of them"
        return f" because of {named} in the list: without {without}, {self.below} would lead."


def _most(sentence: str, effects: pd.DataFrame) -> str:
    most = effects[effects["effect"] > 0].nlargest(1, "effect")
    texts = [f" {sentence.format(row[0], number(row[1], '+.3g'))}" for row in most.to_numpy()]
    return "".join(texts)


def explain(  # noqa: PLR0913 (what, of what, and how exactly)
    ranker: Ranker,
    judged: JudgedLists,
    pair: Sequence[int] = (),
    groups: Mapping[str, Sequence[int]] | str | None = None,
    *,
    names: Sequence[str] = (),
    seed: int = 0,
) -> Margin:
    """Explain why a ranker puts one document of a list above another.

    Args:
        ranker: anything that scores.
        judged: one list, in its input order.
        pair: places of the two documents in the list, in any order. One: it and the next one of
            the ranking. None: the first two of the ranking.
        groups: ids of features by name of their group, or `prefix`: by the names of features up
            to a character that is no letter or digit. Other features are groups of their own.
        names: of the documents; by default their ids.
        seed: of sampled effects, of more than 12 groups.

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
    places = positions(lists.offsets, scores, lists.rows)
    at = _pair(places, pair)
    margin = float(scores[at[0]] - scores[at[1]])
    doubt = float(measure_floor(ranker, judged, scores)[0].doubt[at].sum())
    documents = _without_each(ranker, judged, at)
    documents["swaps"] = documents["effect"] > margin + doubt
    documents.insert(0, "document", np.delete(np.array(names, dtype=object), at))
    # By declaration, and checked: without each of the others, and without all
    pair_list = replace(judged, lists=_part(lists, at))
    change = margin - np.subtract(*_scores(ranker, pair_list))
    alone = not {"neighbours", "order"} & set(ranker.reads) and bool(
        (np.abs([change, *documents["effect"]]) <= doubt).all()
    )
    if alone:
        documents["effect"] = 0.0
    columns = _columns(judged, groups) if "features" in ranker.reads else {}
    # Scores that do not depend on the other documents are computed without them
    shown, seen = (pair_list, np.array([0, 1])) if alone else (judged, at)
    background = moments(dataset.features[lists.rows].astype(np.float64))[0].astype(np.float32)
    differs = (dataset.features[lists.rows[at]] != background).any(axis=0)
    players = [name for name, members in columns.items() if differs[members].any()]
    members = np.zeros((len(players), len(background)), dtype=bool)
    for player, name in enumerate(players):
        members[player, columns[name]] = True
    game = partial(_margins, ranker, shown, seen, background, members)
    values = (
        shapley.exact(game, len(players)) if len(players) <= shapley.EXACT
        else shapley.sampled(game, len(players), generator(seed, "shapley", query))
    )  # fmt: skip
    effects = np.column_stack(
        [values.values, values.values - values.half_widths, values.values + values.half_widths]
    )
    features = pd.DataFrame(effects, index=players, columns=["effect", "low", "high"])
    # Features with equal cells everywhere have no effect
    features = features.reindex([*columns], fill_value=0.0).rename_axis("feature").reset_index()
    ranks = int(places[at[0]]) + 1, int(places[at[1]]) + 1
    return Margin(
        ranker.name, names[at[0]], names[at[1]], ranks, margin, doubt, values.empty, alone,
        _largest_first(features), _largest_first(documents),
    )  # fmt: skip


def explain_pair(item: Mapping[str, Any]) -> dict[str, Any]:
    """Explanation of a pair of a list in plain values, for the resident process.

    Args:
        item: `store`, `data`, `recipe`, `query`, `ranker` (artefact key), `order` and `changes` as
            in `scoring.score_query`, `pair` (two documents) and `names` (of all documents).
    """
    changes, order = DocumentChanges.parse(item["changes"]), item["order"]
    judged = changes.of(list_for(item), order)
    arranged = changes.arranged(order, len(order))
    pair = [arranged.index(document) for document in item["pair"]]
    names = [item["names"][document] for document in arranged]
    answer = vars(explain(ranker_for(item), judged, pair, names=names))
    tables = {name: answer[name].to_dict("list") for name in ("features", "documents")}
    return answer | tables


def _margins(  # noqa: PLR0913, PLR0917 (the first five are those of one game)
    ranker: Ranker,
    judged: JudgedLists,
    pair: Pair,
    background: Float32[np.ndarray, " features"],
    members: Bool[np.ndarray, "groups features"],
    takes_part: Bool[np.ndarray, "coalitions groups"],
) -> Float64[np.ndarray, " coalitions"]:
    """Margins of a pair with the features of some groups, and the background of the others."""
    dataset, lists = judged.dataset, judged.lists
    query = int(lists.queries[0])
    first, size = int(dataset.offsets[query]), int(np.diff(dataset.offsets)[query])
    at_once = max(1, CELLS // (size * len(background)))
    margins = []
    for start in range(0, len(takes_part), at_once):
        present = takes_part[start : start + at_once] @ members
        count = len(present)
        # Copies of the list, each with its own rows
        copies = lists.select(np.zeros(count, dtype=np.int64))
        shift = np.repeat(np.arange(count) * size, len(lists.rows)) - first
        copies = replace(copies, rows=copies.rows + shift, queries=np.arange(count))
        copied = JudgedLists(dataset.select(np.full(count, query)), copies)
        cells = np.where(present[:, None], dataset.features[lists.rows[pair]], background)
        rows = copies.rows.reshape(count, -1)[:, pair].ravel()
        cells = cells.reshape(len(rows), -1).astype(np.float64)
        scores = _scores(ranker, with_features(copied, rows, cells)).reshape(count, -1)
        margins.append(scores[:, pair[0]] - scores[:, pair[1]])
    return np.concatenate(margins)


def _without_each(ranker: Ranker, judged: JudgedLists, pair: Pair) -> pd.DataFrame:
    """Effect of each of the other documents, and ranks of the pair without it; ranks close up."""
    count = len(judged.lists.rows)
    others = np.delete(np.arange(count), pair)
    every = np.arange(len(others) + 1)
    # The whole list is scored with them, for the same rounding
    copies = judged.lists.select(np.zeros(len(every), dtype=np.int64))
    kept = np.arange(count) != np.append(others, -1)[:, None]
    lists = restrict(copies, kept.ravel())
    scores = _scores(ranker, replace(judged, lists=lists))
    ranks = positions(lists.offsets, scores, lists.rows) + 1
    places = lists.offsets[:-1, None] + pair - (np.append(others, count)[:, None] < pair)
    margins = scores[places[:, 0]] - scores[places[:, 1]]
    above, below = ranks[places[:-1]].T
    return pd.DataFrame(
        {"effect": margins[-1] - margins[:-1], "above_rank": above, "below_rank": below}
    )


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
    if len(pair) != 2 or pair[0] == pair[1]:
        raise ParameterError("documents", listed(pair), "two different documents of the list")
    return np.array(sorted(pair, key=lambda at: places[at]), dtype=np.int64)


def _part(lists: CandidateLists, at: Pair) -> CandidateLists:
    """These documents of one list, with their ranks in the whole list."""
    bounds = np.array([0, len(at)])
    return CandidateLists(bounds, lists.queries, lists.rows[at], lists.ranks[at], lists.prior[at])


def _columns(
    judged: JudgedLists, groups: Mapping[str, Sequence[int]] | str | None
) -> dict[str, list[int]]:
    """Columns of every group of features."""
    names, group_of = judged.dataset.names, {}
    if isinstance(groups, str):
        if groups != "prefix":
            raise ParameterError("groups", groups, "prefix, or ids of features by name")
        group_of = {name: re.split(r"[^A-Za-z0-9]", name)[0] for name in names}
    else:
        by_id = dict(zip(judged.dataset.feature_ids, names, strict=True))
        for group, members in (groups or {}).items():
            for feature in members:
                if feature not in by_id or by_id[feature] in group_of:
                    raise ParameterError("feature", feature, "in the data set, and in one group")
                group_of[by_id[feature]] = group
    columns: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        columns.setdefault(group_of.get(name, name), []).append(at)
    return columns


def _largest_first(frame: pd.DataFrame) -> pd.DataFrame:
    order = np.argsort(-frame["effect"].abs().to_numpy(), kind="stable")
    return frame.iloc[order].reset_index(drop=True)

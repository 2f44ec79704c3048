"""Rescoring of a study's lists in the resident process, as frames for bump charts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import scoring, services, state
from shuffleproof.app.study_access import result
from shuffleproof.core.answers.scoring import documents_moved
from shuffleproof.core.errors import ShuffleproofError, UsageError
from shuffleproof.core.experiment.score_floor import of_scores
from shuffleproof.core.perturb.entry import PerturbationEntry
from shuffleproof.core.perturb.registry import attack_target, entry_of
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.manifest import Artefact

TRAINED = "shuffleproof.core.studies.query_answers"
"""Module that answers for studies with one trained ranker per condition."""

PERTURBED = "shuffleproof.core.studies.kinds.perturbations.query"
"""Module that answers for studies of perturbations and of the worst case."""

NUMBERS = ("shown", "answered", "shown_before", "answered_before", "score", "score_before")


def features() -> tuple[int, ...]:
    """Ids of the features of the data set in use; none if it cannot be scored."""
    try:
        return scoring.describe(state.data()).features
    except ShuffleproofError:
        return ()


def families(recipe: Mapping[str, Any]) -> dict[str, list[float]]:
    """Levels of every family of a study, from the unchanged one outwards."""
    levels: dict[str, list[float]] = {}
    for family, level in recipe["perturbations"]:
        levels.setdefault(str(family), []).append(float(level))
    return levels


def entry(family: str) -> PerturbationEntry | None:
    """Entry of a family, a chain or an attack; None if the registry no longer has it."""
    try:
        return entry_of(family)
    except ShuffleproofError:
        return None


def unit(family: str) -> str:
    """Unit of a family's levels."""
    known = entry(family)
    return known.unit if known else "level"


def digest_of(artefact: Artefact, label: str) -> str:
    """Digest of a ranker that was trained before the study."""
    return INITIAL if label == INITIAL else str(dict(artefact.recipe["rankers"])[label])


def ranker_of(trials: pd.DataFrame, seed: int) -> str:
    """Artefact key of a trial's ranker.

    Args:
        trials: trials of one ranker under one condition, one row per seed.
        seed: seed of the trial; an unknown seed means the first one.

    Raises:
        UsageError: an external ranker that is not stored and cannot score again.
    """
    of_seed = trials[trials["draw"] == seed]
    row = (of_seed if len(of_seed) else trials).iloc[0]
    if row["ranker"] == INITIAL:
        return INITIAL
    if not row["artefacts"]:
        raise UsageError(
            f"{row['ranker']} was named by a file or function and is not stored, so it cannot be "
            "rescored here; import it on the page Your ranker, then run the study with it"
        )
    return str(row["artefacts"])


def moves(function: str, artefact: Artefact, query: str, **question: Any) -> pd.DataFrame:
    """Both rankings of a list, with kind and scores; `moved`: passed another document.

    Args:
        function: `module:name`, in the scoring process.
        artefact: the study.
        query: id of the query.
        question: arguments of the function in addition to store, data set, lists and query.

    Raises:
        ShuffleproofError: the scoring process has no answer, or the ranker was deleted.
    """
    if "lists" not in artefact.facts:
        raise UsageError("this study was stored without its lists' recipe: run it again")
    where = {
        "store": str(services.store().root),
        "data": state.data(),  # current name; the digest of the lists identifies the data
        "recipe": artefact.facts["lists"],
        "query": query,
    }
    return _moves(_answer(function, where | question))


@st.cache_data(max_entries=512, show_spinner=False)
def _answer(function: str, question: dict[str, Any]) -> dict[str, Any]:
    reply: dict[str, Any] = scoring.resident().ask(function, question)
    return reply


def _moves(answered: Mapping[str, Any]) -> pd.DataFrame:
    frame = pd.DataFrame({name: answered[name] for name in ("document", "label", "kind", *NUMBERS)})
    frame = frame.astype(dict.fromkeys(NUMBERS, float))
    in_both = (frame["kind"] == "kept").to_numpy()
    before, after = (
        frame.loc[in_both, name].to_numpy(np.float32) for name in ("score_before", "score")
    )
    # Only moves beyond the rounding error of the scores count.
    floor = of_scores(np.array([0, len(before)]), before).doubt
    moved = np.zeros(len(frame), dtype=bool)
    moved[in_both] = documents_moved(before, after, floor)
    pairs = {
        f"feature {name}{when}": [pair[at] for pair in values]
        for name, values in answered["features"].items()
        for at, when in enumerate((" before", ""))
    }
    return frame.assign(moved=moved, **pairs)


def perturbed_scores(
    artefact: Artefact,
    point: tuple[str, str, float],
    query: str,
    draw: int,
    columns: Sequence[int] = (),
) -> pd.DataFrame:
    """Rankings of one query, scored again under one draw of a perturbation.

    Args:
        artefact: the study.
        point: ranker, family and level.
        query: id of the query.
        draw: number of the draw.
        columns: features to show before and after.

    Raises:
        ShuffleproofError: the scoring process has no answer, or the ranker or data set is gone.
    """
    ranker, family, level = point
    target = attack_target(family)
    attack = {"attacked": digest_of(artefact, target)} if target else {}
    return moves(
        f"{PERTURBED}:replay_trial", artefact, query, ranker=digest_of(artefact, ranker),
        lists=artefact.recipe["lists"], family=family, level=level, draw=draw,
        seed=artefact.recipe["seed"], features=list(columns),
        trained=_trained(str(artefact.key), point, draw), **attack,
    )  # fmt: skip


def _trained(key: str, point: tuple[str, str, float], draw: int) -> str:
    """Key of the ranker trained for a trial; empty if none was trained."""
    trials = result(key).trials
    if "artefact" not in trials:
        return ""
    at = dict(zip(("ranker", "family", "level", "draw"), (*point, draw), strict=True))
    same = (trials[list(at)] == pd.Series(at)).all(axis="columns")
    known = trials[same]["artefact"].dropna()
    return str(known.iloc[0]) if len(known) else ""

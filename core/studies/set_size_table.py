"""What a set-size study says: curves over N1, who drops least, and whether the paper's claim holds.

The paper's claim (Table 3): trained on the smallest lists and tested on the largest, SetRank IMSAB
drops least, then SetRank MSAB, then DLCM.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64

from core.metrics.significance import bootstrap_interval
from core.seeds import generator
from core.studies.benchmark_finding import signed
from core.studies.claims import rising
from core.studies.damage import most_damaged
from core.studies.initial_ranking import INITIAL
from core.studies.result import StudyResult
from core.studies.set_size import ANY, CEILING, ORDER, SHIFT
from core.words import counted

ORDERED = (("setrank-imsab", "SetRank IMSAB"), ("setrank-msab", "SetRank MSAB"), ("dlcm", "DLCM"))
"""Who drops least to most, by the paper."""


def curves(result: StudyResult, measure: str) -> pd.DataFrame:
    """One row a ranker, N0 and N1.

    Args:
        result: a set-size study.
        measure: one that follows from what is stored.

    Returns:
        Columns ranker, trained_on (N0 as text, `any` where lists play no part), size (N1),
        mean_length (of the lists really tested), mean, low, high (95 % over queries), n,
        home (mean at N1 = N0 of the ranker trained on N1: NaN where none was), shift (mean −
        home), order_stability and score_shift (means over queries).
    """
    summary = result.summary((measure,))
    own = {
        (row["ranker"], row["family"], row["level"]): row["mean"]
        for row in summary.to_dict("records")
    }
    rows = []
    for row in summary.to_dict("records"):
        point = (row["ranker"], row["family"], row["level"])
        home = own.get((row["ranker"], f"{row['level']:g}", row["level"]), float("nan"))
        rows.append(
            {
                "ranker": row["ranker"],
                "trained_on": row["family"],
                "size": int(row["level"]),
                "mean_length": row["set_size"],
                "mean": row["mean"],
                "low": row["low"],
                "high": row["high"],
                "n": row["n"],
                "home": home,
                "shift": row["mean"] - home,
                "order_stability": _mean(result.per_query(*point, ORDER)),
                "score_shift": _mean(result.per_query(*point, SHIFT)),
            }
        )
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Drop:
    """What a ranker loses between the lists that it was trained on and the largest.

    Attributes:
        ranker: its label.
        trained_on: N0.
        tested_on: the largest N1 that it was asked for.
        loss: mean of NDCG at N0 − NDCG at N1, query by query.
        low: of the 95 % interval over queries.
        high: likewise.
    """

    ranker: str
    trained_on: int
    tested_on: int
    loss: float
    low: float
    high: float


def drops(result: StudyResult, measure: str) -> list[Drop]:
    """The drop of every ranker that is trained on lists, from the smallest N0, least first."""
    found = []
    for label in dict.fromkeys(result.trials.ranker):
        ends = _ends(result, label)
        if ends is not None:
            loss = _loss(result, label, measure)
            low, high = bootstrap_interval(loss, generator(0, "set-size", label))
            found.append(Drop(label, *ends, float(np.nanmean(loss)), low, high))
    return sorted(found, key=lambda drop: drop.loss)


def queries(
    result: StudyResult,
    point: tuple[str, str, int],
    measure: str,
    against: tuple[str, int] | None = None,
) -> tuple[tuple[str, int], pd.DataFrame]:
    """What another size of the list did to every query, the most damaged first.

    Args:
        result: a set-size study.
        point: ranker, N0 as text, N1.
        measure: one that follows from what is stored.
        against: N0 as text and N1 of the same ranker to compare with; by default `home_of`.

    Returns:
        What is compared with, and columns query, home (the measure there), here, change; against
        its home also order_stability and score_shift. Queries that the measure leaves out are
        left out.
    """
    ranker, trained_on, size = point
    home = home_of(result, ranker, trained_on)
    at = against or home
    before, here = (
        result.per_query(ranker, one, float(level), measure).astype(np.float64)
        for one, level in (at, (trained_on, size))
    )
    columns = {"query": result.query_ids, "home": before, "here": here, "change": here - before}
    if at == home:
        for name, kept in (("order_stability", ORDER), ("score_shift", SHIFT)):
            own = result.per_query(ranker, trained_on, float(size), kept)
            columns[name] = own.astype(np.float64)
    frame = pd.DataFrame(columns)
    counted = frame[frame["change"].notna()]
    return at, counted.sort_values("change", kind="stable", ignore_index=True)


def home_of(result: StudyResult, ranker: str, trained_on: str) -> tuple[str, int]:
    """N0 and the N1 that its others are compared with: N0 itself; where it has none, the least."""
    own = result.trials[(result.trials.ranker == ranker) & (result.trials.family == trained_on)]
    sizes = sorted(int(level) for level in own.level)
    at = int(trained_on) if trained_on.isdigit() and int(trained_on) in sizes else sizes[0]
    return trained_on, at


def by_size(result: StudyResult, ranker: str, trained_on: str, measure: str) -> pd.DataFrame:
    """The change of every query at every N1 from the ranker's home, the most damaged first.

    Returns:
        A column a size, a row a query (its id is the index), by their means; queries that the
        measure leaves out are left out.
    """
    own = result.trials[(result.trials.ranker == ranker) & (result.trials.family == trained_on)]
    home = float(home_of(result, ranker, trained_on)[1])
    before = result.per_query(ranker, trained_on, home, measure)
    after = {
        int(size): result.per_query(ranker, trained_on, size, measure)
        for size in sorted(set(own.level))
    }
    return most_damaged(before, after, result.query_ids)


def claim(result: StudyResult, measure: str) -> dict[str, object]:
    """Whether the paper's claim holds here; empty where the three rankers are not all there.

    The two neighbouring pairs (MSAB − IMSAB, DLCM − MSAB) are compared by paired tests of the
    queries' losses; see `core.studies.claims.rising`.
    """
    labels = list(dict.fromkeys(result.trials.ranker))
    chosen = []
    for name, words in ORDERED:
        plain = [x for x in labels if _is(x, name) and _ends(result, x) is not None]
        plain.sort(key=lambda label: "-without-init" not in label)
        if not plain:
            return {}
        chosen.append((plain[0], words))
    verdict = rising([(label, _loss(result, label, measure)) for label, _ in chosen])
    ends = _ends(result, chosen[0][0]) or (0, 0)
    return {
        "claim": f"{chosen[0][1]} drops least, then {chosen[1][1]}, then {chosen[2][1]}",
        "verdict": verdict.word,
        "text": verdict.text,
        "trained_on": ends[0],
        "tested_on": ends[1],
        "steps": [asdict(step) for step in verdict.steps],
    }


@dataclass(frozen=True)
class Sentences:
    """What a study says, written from the numbers; empty where it has nothing to say.

    Attributes:
        candidates: what the candidates alone do, before any ranker.
        losses: what every ranker loses from its own size to the largest.
        verdict: whether the paper's claim holds.
    """

    candidates: str
    losses: str
    verdict: str


def sentences(result: StudyResult, measure: str) -> Sentences:
    """What a study says of the candidates, of the rankers and of the paper's claim."""
    return told(curves(result, measure), drops(result, measure), claim(result, measure))


def told(frame: pd.DataFrame, lost: Sequence[Drop], found: Mapping[str, object]) -> Sentences:
    """The sentences from what was computed before: `curves`, `drops` and `claim`."""
    return Sentences(
        _candidates(frame) if {INITIAL, CEILING} <= set(frame.ranker) else "",
        " ".join(_loses(drop) for drop in lost),
        f"The paper's claim that {found['claim']} {found['text']}" if found else "",
    )


def finding(result: StudyResult, measure: str) -> str:
    """A paragraph written from the numbers: the candidates' own curve, the drops, the claim."""
    said = sentences(result, measure)
    return " ".join(filter(None, (said.candidates, said.losses, said.verdict)))


def shorter(facts: Mapping[str, Any]) -> str:
    """How many test lists have fewer documents than were asked for; empty where none has.

    Args:
        facts: of a stored study.

    >>> shorter({"queries": 3, "shorter": {"40": 0, "240": 1}})
    'fewer than 240 documents: 1 of 3 lists, which stay as they are'
    >>> shorter({"queries": 3, "shorter": {"40": 1, "240": 2, "500": 3}})
    'fewer than 40, 240 and 500 documents: 1, 2 and 3 of 3 lists, which stay as they are'
    """
    short = {size: count for size, count in facts["shorter"].items() if count}
    if not short:
        return ""
    sizes, counts = _listed(short), _listed(map(str, short.values()))
    of = f"{counts} of {counted(facts['queries'], 'list')}"
    return f"fewer than {sizes} documents: {of}, which stay as they are"


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _loses(drop: Drop) -> str:
    word = "loses" if drop.loss >= 0 else "gains"
    return (
        f"{drop.ranker} {word} {abs(drop.loss):.3f} from {drop.trained_on} to {drop.tested_on} "
        f"candidates (95 % of the change: {signed(-drop.high)} to {signed(-drop.low)})."
    )


def _candidates(frame: pd.DataFrame) -> str:
    """What the candidates alone do, before any model."""
    of = {label: group.sort_values("size") for label, group in frame.groupby("ranker")}
    initial, ceiling = of[INITIAL], of[CEILING]
    first, last = int(ceiling["size"].iloc[0]), int(ceiling["size"].iloc[-1])
    return (
        f"From {first} to {last} candidates the best possible order goes from "
        f"{ceiling['mean'].iloc[0]:.3f} to {ceiling['mean'].iloc[-1]:.3f} and the initial ranking "
        f"from {initial['mean'].iloc[0]:.3f} to {initial['mean'].iloc[-1]:.3f}."
    )


def _is(label: str, name: str) -> bool:
    """Whether a label is this ranker without ordinal embeddings (DLCM without its input order)."""
    bare = label.partition("@")[0]
    return bare in {name, f"{name}-without-init"}


def _ends(result: StudyResult, label: str) -> tuple[int, int] | None:
    """The smallest N0 and the largest N1 of a ranker; None where it has no size of its own."""
    own = result.trials[(result.trials.ranker == label) & (result.trials.family != ANY)]
    if own.empty:
        return None
    trained_on = min(int(size) for size in own.family)
    at = own[own.family == str(trained_on)].level
    if trained_on not in set(at.astype(int)):
        return None
    return trained_on, int(at.max())


def _loss(result: StudyResult, label: str, measure: str) -> Float64[np.ndarray, " queries"]:
    """NDCG at N1 = N0 minus NDCG at the largest N1, query by query, seeds averaged."""
    trained_on, tested_on = _ends(result, label) or (0, 0)
    home, away = (
        result.per_query(label, str(trained_on), float(size), measure).astype(np.float64)
        for size in (trained_on, tested_on)
    )
    return home - away


def _mean(values: Float32[np.ndarray, " queries"]) -> float:
    counted = values[~np.isnan(values)]
    return float(counted.mean(dtype=np.float64)) if len(counted) else float("nan")

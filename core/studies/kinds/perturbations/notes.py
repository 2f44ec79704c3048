"""What a study of perturbations says beside its losses: whom attacks reach, what means nothing."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.perturb.registry import ATTACK, attacked
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.perturbations import applicability
from shuffleproof.core.studies.kinds.perturbations.system import in_words
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL

CANNOT = "cannot be "
"""How a reason begins that is no want of meaning: `cannot be re-scored, …`."""


def transfer(frame: pd.DataFrame) -> pd.DataFrame:
    """What an attack on one network costs every ranker, at the last level of each attack.

    Args:
        frame: `core.studies.kinds.perturbations.table.losses`.

    Returns:
        The loss; a row a network attacked, a column a ranker that was hit: all but the initial
        ranking, which reads no feature. Empty without attacks.
    """
    attacks = frame[frame["family"].map(attacked).astype(bool) & (frame["ranker"] != INITIAL)]
    last = attacks.groupby(["ranker", "family"], sort=False).tail(1)
    named = last.assign(attacked=last["family"].map(attacked))
    wide = named.pivot_table("loss", "attacked", "ranker", sort=False, dropna=False)
    return wide.rename_axis(index=None, columns=None)


def transfer_table(losses: pd.DataFrame, measure: str) -> tables.Table:
    """`transfer` as it is shown."""
    wide = transfer(losses)
    columns = [tables.Column(str(name), str(name), tables.CHANGE) for name in wide]
    title = f"{measure} lost by attacks at the last level: made on a row, felt by a column"
    named = wide.rename_axis("attacked").reset_index()
    return tables.Table(named, [tables.Column("attacked", "Made on"), *columns], title)


def transferred(wide: pd.DataFrame, measure: str) -> str:
    """How much of an attack reaches the rankers that it was not made for, in words.

    Args:
        wide: `transfer`.
        measure: that is lost.

    >>> frame = pd.DataFrame({"dlcm": [0.2, 0.05], "gsf": [0.1, 0.3]}, index=["dlcm", "gsf"])
    >>> print(transferred(frame, "RR"))
    Attacks cost the network that they are made on 0.250 RR on average and the others 0.075: 30 %.
    """
    known = [name for name in wide.index if name in wide.columns]
    own = [float(wide.loc[name, name]) for name in known]
    others = wide.to_numpy(float)[wide.index.to_numpy()[:, None] != wide.columns.to_numpy()]
    others = others[~np.isnan(others)]
    if not own or not len(others):
        return ""
    hit, passed = float(np.mean(own)), float(others.mean())
    share = f": {100 * passed / hit:.0f} %" if hit > 0 and passed > 0 else ""
    text = f"Attacks cost the network that they are made on {hit:.3f} {measure} on average and "
    return f"{text}the others {passed:.3f}{share}.".replace(" -", " −")


def left_out(facts: Mapping[str, Any], families: Collection[str]) -> str:
    """For which rankers families mean nothing or cannot be asked, and why, in words.

    Args:
        facts: of the study.
        families: to speak of.

    >>> left_out({"left_out": {"threads": {"mart": "no network"}}}, ["threads", "cut"])
    'threads means nothing for mart (no network).'
    >>> left_out({"left_out": {"unit-error": {"scores#01": "cannot be re-scored, a file"}}},
    ...          ["unit-error"])
    'unit-error: scores#01 cannot be re-scored (a file).'
    """
    return " ".join(
        sentence
        for family, reasons in facts.get("left_out", {}).items()
        if family in families
        for sentence in _sentences(family, reasons)
    )


def skipped(names: Sequence[str], families: Sequence[str]) -> str:
    """What a study would leave out, in words, as far as it is known before rankers are trained.

    >>> skipped(["feature:2"], ["label-noise", "cut"])
    'label-noise means nothing for initial ranking (given, not trained again); feature:2 \
(learns from no label).'
    """
    known = [family for family in families if family != ATTACK]
    return left_out({"left_out": applicability.left_out(known, [INITIAL, *names])}, known)


def short_of(facts: Mapping[str, Any], families: Collection[str]) -> str:
    """Which levels are more than some lists have, in words.

    Args:
        facts: of the study.
        families: to speak of.

    >>> short_of({"reached": {"promote": {"10": 30, "1000": 0}}, "queries": 38}, ["promote"])
    'promote: 30 of 38 lists reach level 10, none level 1000; the others change as far as they go.'
    """
    sentences = []
    for family, levels in facts.get("reached", {}).items():
        if family not in families:
            continue
        of = f" of {facts['queries']} list{'' if facts['queries'] == 1 else 's'}"
        parts: list[str] = []
        for level, count in levels.items():
            verb = "reaches" if count == 1 else "reach"
            who = f"{count}{of} {verb} " if not parts else f"{count} "
            none = f"none{of} reaches " if not parts else "none "
            parts.append(f"{who if count else none}level {level}")
        sentences.append(f"{family}: {', '.join(parts)}; the others change as far as they go.")
    return " ".join(sentences)


def _sentences(family: str, reasons: Mapping[str, str]) -> Iterator[str]:
    """What means nothing; then what cannot be done, by its verb."""
    nothing = {name: reason for name, reason in reasons.items() if not reason.startswith(CANNOT)}
    if nothing:
        yield f"{family} means nothing for {in_words(nothing)}."
    others: dict[str, list[str]] = {}
    for name in reasons.keys() - nothing.keys():
        others.setdefault(reasons[name], []).append(name)
    for reason, names in sorted(others.items()):
        verb, _, why = reason.partition(", ")
        yield f"{family}: {', '.join(sorted(names))} {verb} ({why})."

"""What a study of the worst case amounts to, in words."""

from typing import Any

import pandas as pd

from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.words import number


def finding(table: pd.DataFrame, measure: str, unit: str) -> str:
    """Who is hurt most and least at the largest budget, and who cannot be hurt at all.

    Args:
        table: as `core.studies.kinds.worst_case.table.table` gives it.
        measure: what was hurt.
        unit: what the budget counts.

    >>> row = {"ranker": "dlcm", "budget": 5, "as_is": 0.5, "worst": 0.25, "low": 0.2, "high": 0.3,
    ...        "worst_damage": 0.25, "random_damage": 0.05, "certified": False}
    >>> finding(pd.DataFrame([row]), "RR", "inversions")
    'The worst 5 inversions found cost dlcm 0.250 RR (0.500 → 0.250), at random 0.050.'
    """
    table = table[table["worst"].notna()]
    trained = table[table["ranker"] != INITIAL]
    own = table if trained.empty else trained
    if own.empty:
        return ""
    budget = int(own["budget"].max())
    rows: list[Any] = own[own["budget"] == budget].to_dict("records")
    certified = [str(row["ranker"]) for row in rows if row["certified"]]
    hurt = sorted(
        (row for row in rows if not row["certified"]), key=lambda row: -row["worst_damage"]
    )
    sentences = []
    if hurt:
        first = hurt[0]
        text = f"The worst {steps(budget, unit)} found cost {first['ranker']} "
        text += f"{first['worst_damage']:.3f} {measure} ({first['as_is']:.3f} → "
        text += f"{first['worst']:.3f}), at random {number(first['random_damage'])}"
        if len(hurt) > 1:
            last = hurt[-1]
            text += f"; {last['ranker']} loses least of those that can be hurt: "
            text += f"{number(last['worst_damage'])}, at random {number(last['random_damage'])}"
        sentences.append(f"{text}.")
    if certified:
        verb = "are" if len(certified) > 1 else "is"
        sentences.append(f"{', '.join(certified)} {verb} certified: no order costs anything.")
    return " ".join(sentences)


def steps(budget: int, unit: str) -> str:
    """A budget in words.

    >>> steps(1, "inversions"), steps(10, "exchanges")
    ('1 inversion', '10 exchanges')
    """
    return f"{budget} {unit if budget != 1 else unit.removesuffix('s')}"

"""Generated preferences that ship with the program, free of third-party rights.

Items of every query have a true usefulness, which gives their grades. Three judges compare every
two items in both orders; they err more where the two are close, and prefer the item shown first a
little. In half of the queries three items of middling usefulness beat each other in a circle, as no
usefulness can explain.
"""

from functools import cache

import numpy as np

from shuffleproof.core.aggregate.preferences import Preferences, built
from shuffleproof.core.seeds import generator

NAME = "sample"
QUERIES, JUDGES = 12, ("anna", "ben", "chloe")
SIZES = (8, 10, 12, 16)  # Items of a query, in turn
STEEP, FIRST = 3.0, 0.35
"""Slope of an answer's log odds in the difference of usefulness, and what the first is given."""

GRADES = (0.35, 0.75)  # From which usefulness on an item has grade 1 and grade 2
CIRCLE = 0.9  # How likely an answer about a pair of a planted circle keeps to it


@cache
def planted_preferences() -> Preferences:
    """Twelve queries, all pairs in both orders by three judges.

    >>> preferences = planted_preferences()
    >>> preferences.queries, preferences.documents, len(preferences.value)
    (12, 138, 4662)
    """
    rows: list[tuple[int, int, int, float, float, int, int]] = []
    items, labels = [], []
    for query in range(QUERIES):
        count = SIZES[query % len(SIZES)]
        draws = generator(7, "preferences", NAME, query)
        useful = draws.permutation((np.arange(count) + 0.5) / count)
        items.append(tuple(f"d{place + 1}" for place in range(count)))
        labels.append(np.searchsorted(GRADES, useful, side="right").astype(float))
        # Bradley–Terry: the log odds of an answer are STEEP times the difference of usefulness
        wins = 1.0 / (1.0 + np.exp(-STEEP * (useful[:, None] - useful[None, :])))
        if query % 2:
            middle = np.argsort(np.abs(useful - 0.5), kind="stable")[:3].tolist()
            for item, opponent in zip(middle, [*middle[1:], middle[0]], strict=True):
                wins[item, opponent], wins[opponent, item] = CIRCLE, 1.0 - CIRCLE
        # log odds of the first item rise by FIRST
        shown_first = 1.0 / (1.0 + (1.0 - wins) / wins * np.exp(-FIRST))
        for judge in range(len(JUDGES)):
            answers = draws.random((count, count)) < shown_first
            rows += [
                (query, item, opponent, float(answers[item, opponent]), 1.0, judge, 0)
                for item in range(count)
                for opponent in range(count)
                if item != opponent
            ]
    names = [f"q{query + 1}" for query in range(QUERIES)]
    return built(names, items, rows, JUDGES, labels=tuple(labels))

"""The worst input order of one list, searched at once for a page."""

from collections.abc import Mapping
from typing import Any

from shuffleproof.core.answers.scoring import QUALITY, list_for, ranker_for
from shuffleproof.core.perturb.search import Search
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.studies.kinds.worst_case.orders import Attack

EXCHANGES = 5
"""Exchanges of two documents within which the worst order is searched."""


def worst_input_order(item: Mapping[str, Any]) -> list[int]:
    """Worst input order found for one query, by NDCG@10.

    Args:
        item: `store`, `data`, `recipe` (of the lists), `query` and `ranker` (artefact key).

    Returns:
        The document (place in the initial ranking) at each position.

    Raises:
        DataError: the test part lacks the query.
    """
    attack = Attack(ranker_for(item), list_for(item), "shown", QUALITY)
    search = Search(unit="exchanges", budget=EXCHANGES)
    orders: list[list[int]] = run_to_end(attack.find_worst(search)).orders.tolist()
    return orders[-1]

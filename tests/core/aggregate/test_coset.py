"""CPS: the model by its definition, weights that find the good rankers, and LETOR's orderings."""

import gzip
import itertools
import json

import numpy as np
import pytest

from shuffleproof.core.aggregate import coset
from shuffleproof.core.aggregate.preferences import Preferences
from shuffleproof.core.aggregate.registry import AGGREGATORS, SUPERVISED, aggregate
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import UsageError
from tests.places import DATA


def spearman(order, ranks):
    """The squared differences between an order's ranks and a ranker's."""
    place = np.empty(len(order))
    place[list(order)] = np.arange(1, len(order) + 1)
    return ((place - ranks) ** 2).sum()


def surprise_by_definition(order, ranks, weights):
    """Minus the log-likelihood, over every order that a stage may still lead to."""
    total, items = 0.0, len(order)
    for stage in range(items):
        distances = {}
        for chosen in order[stage:]:
            left = [one for one in order[stage:] if one != chosen]
            ahead = (*order[:stage], chosen)
            coset_of = [(*ahead, *rest) for rest in itertools.permutations(left)]
            distances[chosen] = [np.mean([spearman(one, row) for one in coset_of]) for row in ranks]
        logits = {chosen: -(weights @ found) for chosen, found in distances.items()}
        total += np.log(sum(np.exp(value - logits[order[stage]]) for value in logits.values()))
    return total


def test_the_likelihood_is_that_of_the_coset_permutation_distance():
    random = np.random.default_rng(0)
    for items in (2, 3, 5):
        table = random.permuted(np.tile(np.arange(items), (3, 1)), axis=1).astype(np.float32)
        order, weights = tuple(random.permutation(items).tolist()), random.normal(0, 0.1, 3)
        shares = coset.ranks(table)
        positions, offsets = shares.T[list(order)], np.array([0, items])
        # shares of a list of n ranks and places: the distance of whole ones is n² times it
        found, slope = coset.surprise(positions, offsets, items**2 * weights)
        assert found == pytest.approx(surprise_by_definition(order, shares * items, weights))
        for ranker in range(3):
            step = np.zeros(3)
            step[ranker] = 1e-6
            above, below = (
                coset.surprise(positions, offsets, items**2 * weights + sign * step)[0]
                for sign in (1, -1)
            )
            assert slope[ranker] == pytest.approx((above - below) / 2e-6, abs=1e-6)


def rankings(queries, seed=0, good=1):
    """Rankings of which the first follow the grades and the others are drawn."""
    random = np.random.default_rng(seed)
    tables, labels = [], []
    for _ in range(queries):
        grades = random.integers(0, 3, 12).astype(float)
        table = random.random((5, 12)).astype(np.float32)
        table[:good] += grades
        tables.append(table)
        labels.append(grades)
    none = np.zeros(0)
    return Preferences(
        tuple(map(str, range(queries))), (tuple(f"d{at}" for at in range(12)),) * queries,
        np.zeros(queries + 1, np.int64), none.astype(np.int32), none.astype(np.int32), none, none,
        none.astype(np.int32), none.astype(np.int8), tuple("abcde"), tuple(tables), tuple(labels),
    )  # fmt: skip


def test_it_trusts_the_good_ranker_and_learns_nothing_from_the_query_that_it_orders():
    given = rankings(30)
    orders = coset.orders(given, 0)
    agreement = {"cps": 0, "borda": 0}
    for query, order in enumerate(orders):
        by_votes = aggregate("borda", given.pairs(query)).order
        for name, found in (("cps", order), ("borda", by_votes)):
            agreement[name] += (np.diff(given.labels[query][found]) <= 0).sum()
    assert agreement["cps"] > agreement["borda"]
    assert agreement["cps"] >= 30 * 11 - 3, "the good ranker alone is right everywhere"
    turned = [grades if query else grades[::-1] for query, grades in enumerate(given.labels)]
    other = Preferences(**vars(given) | {"labels": tuple(turned)})
    assert coset.orders(other, 0)[0].tolist() == orders[0].tolist()
    assert [one.tolist() for one in coset.orders(given, 0)] == [one.tolist() for one in orders]


def test_it_needs_labelled_rankings():
    with pytest.raises(UsageError, match="rankings with labels"):
        coset.orders(Preferences(**vars(rankings(6)) | {"labels": ()}), 0)
    with pytest.raises(UsageError, match="4 have"):
        coset.orders(rankings(4), 0)
    assert not set(SUPERVISED) & set(AGGREGATORS)
    with pytest.raises(UsageError, match="aggregate NAME --with cps"):
        aggregate("cps", rankings(6).pairs(0))


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here")
def test_on_letors_aggregation_set_it_is_better_than_borda_as_published(tmp_path, capsys):
    folder, here = DATA / "mq2008_agg", ["--store", str(tmp_path / "store")]
    judged = tmp_path / "qrels.txt"
    with gzip.open(folder / "Fold1.rel_vali.csv.gz", "rt") as file:
        judged.write_text(file.read().replace(",", " "))
    read = ["ingest-preferences", str(folder / "rank_A4.csv.gz"), "--format", "rankings"]
    read += [
        "--direction",
        "large",
        "--nulls",
        "missing",
        "--qrels",
        str(judged),
        "--name",
        "agg",
        *here,
    ]
    assert main(read) == 0
    capsys.readouterr()
    asked = ["--with", "borda,cps", "--measures", "NDCG@1,NDCG@5", "--json"]
    assert main(["aggregate", "agg", *asked, *here]) == 0
    told = {row["aggregator"]: row for row in json.loads(capsys.readouterr().out)["summary"]}
    assert told["cps"]["NDCG@1"] > told["borda"]["NDCG@1"]
    assert told["cps"]["NDCG@5"] > told["borda"]["NDCG@5"]
    assert told["cps"]["calls"] == 0

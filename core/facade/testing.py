"""Assertions about rankers, for users' tests: `from shuffleproof.testing import …`.

A ranker is a function of one list's `features` (float32 [documents, features]), or also of `ranks`
(int64 [documents, rankings], from 0). It may also be a torch module, a model of LightGBM or
XGBoost, an object with `predict` or `score`, or one of our own. Lists are `(features, labels,
offsets)`, or with `ranks` as a fourth; a frame with columns `query`, `label`, perhaps `document`
and `rank`, and features; or `(dataset, lists)` of our own. In a test of Hypothesis, call the
assertions with the arrays that it draws.

Nothing of the program but this module is loaded until something is asserted. As a pytest plugin
(`shuffleproof.pytest_plugin`) both assertions are fixtures too.
"""

from importlib import import_module
from typing import Any

CHECKS = "shuffleproof.core.checks"


def assert_invariant(
    ranker: Any, lists: Any, *, permutations: int = 20, seed: int = 0, strict: bool = False
) -> None:
    """Assert that the input order changes no ranking: the verdict of `certify`.

    Every list is shown in random orders, reversed, rotated, with neighbours swapped, sorted by each
    feature and so on; scores are compared document by document. The effect of rounding is measured
    on the ranker. Ranks stay with their documents. An importable function scores in fresh
    processes; of others a warning says that memory between calls was not examined.

    Args:
        ranker: the ranker.
        lists: its input.
        permutations: random orders of every list.
        seed: of these orders.
        strict: fail too where the verdict is inconclusive: rounding alone could explain a change,
            or no list has two documents with different scores. Without it that is a warning.

    Raises:
        AssertionError: it changes a ranking; the message shows the smallest list and order found.
            Also where scores are not the same twice, or depend on other lists or on padding.
        AnswerError: the ranker returns something else than one number a document (−∞: last).

    >>> class First:
    ...     def predict(self, features):
    ...         return features[:, 0]
    >>> assert_invariant(First(), ([[1.0], [2.0]], [0, 1], [0, 2]))
    """
    __tracebackhide__ = True
    import_module(f"{CHECKS}.assertions").assert_invariant(
        ranker, lists, permutations=permutations, seed=seed, strict=strict
    )


def assert_no_worse(
    ranker: Any, baseline: Any, lists: Any, measure: str = "NDCG@10", *, least: float = 0.01
) -> None:
    """Assert that a ranker is no worse than another one on the same lists.

    It fails where `shuffleproof check` calls it a regression. The mean over lists dropped by
    `least` or more, significantly (paired t test, .05), and by more than without any change (the
    lists scored again, and scores moved within rounding). Of builds that
    are as good as the baseline one in 20 fails at most.

    Args:
        ranker: what is tested.
        baseline: another ranker, or its values: one a list.
        lists: with labels; few lists find little.
        measure: any measure under any convention, such as `AP` or `NDCG(empty=skip)@5`.
        least: the smallest drop of the mean that counts.

    Raises:
        AssertionError: it is worse; the message tells both means, the difference with its interval,
            and the smallest list that lost most.
        DataError: inconclusive: fewer than ten lists have a value, or a ranker's own noise is
            as large as `least`.

    >>> lists = ([[1.0], [2.0]] * 10, [0, 1] * 10, range(0, 21, 2))
    >>> good, bad = (lambda features: features[:, 0]), (lambda features: -features[:, 0])
    >>> assert_no_worse(good, bad, lists)
    """
    __tracebackhide__ = True
    import_module(f"{CHECKS}.assertions").assert_no_worse(
        ranker, baseline, lists, measure, least=least
    )


def sample_lists(depth: int = 40) -> Any:
    """Lists of the shipped sample's test part: the best by feature 3, in that order, with ranks.

    Args:
        depth: documents of a list at most.
    """
    return import_module(f"{CHECKS}.list_forms").sample(depth)


def findings(ranker: Any, lists: Any, *, seed: int = 0) -> Any:
    """Findings of `shuffleproof doctor --ranker`: a tuple, empty for a sound ranker.

    Args:
        ranker: what is examined.
        lists: with labels.
        seed: of the orders that are tried.

    >>> lists = ([[1.0], [2.0]] * 2, [0, 1] * 2, [0, 2, 4])
    >>> [one.code for one in findings(lambda features: features[:, 0] * 0, lists)]
    ['constant-scores']
    """
    return import_module(f"{CHECKS}.doctor").findings(ranker, lists, seed)

"""The pytest plugin: fixtures for tests of rankers; pytest loads it where the package is there.

Nothing of the program is loaded until a test asks for a fixture.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from shuffleproof import testing

MARK = "shuffleproof"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add how many orders are tried, and the seed."""
    group = parser.getgroup("shuffleproof", "rankers under other orders")
    group.addoption(
        "--shuffleproof-permutations", type=_count, default=20, metavar="N",
        help="random orders of every list that the fixture assert_invariant tries (default 20)",
    )  # fmt: skip
    group.addoption(
        "--shuffleproof-seed", type=int, default=0, metavar="N",
        help="of these orders (default 0)",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Say what the marker is."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(permutations=20, seed=0): how the fixture assert_invariant asks in this test",
    )


@pytest.fixture
def assert_invariant(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`shuffleproof.testing.assert_invariant` under the options and the marker of the test."""
    option = request.config.getoption
    given = {name: option(f"--shuffleproof-{name}") for name in ("permutations", "seed")}
    for mark in reversed(list(request.node.iter_markers(MARK))):
        unknown = sorted(set(mark.kwargs) - set(given))
        if mark.args or unknown:
            wrong = ", ".join([*map(repr, mark.args), *unknown])
            raise pytest.UsageError(f"mark {MARK} takes permutations= and seed=, not {wrong}")
        given |= mark.kwargs
    return partial(testing.assert_invariant, **given)


@pytest.fixture
def assert_no_worse() -> Callable[..., None]:
    """`shuffleproof.testing.assert_no_worse`."""
    return testing.assert_no_worse


@pytest.fixture(scope="session")
def sample_lists() -> Any:
    """Lists of the shipped sample: `shuffleproof.testing.sample_lists()`."""
    return testing.sample_lists()


def _count(text: str) -> int:
    if not (number := int(text)) >= 1:
        raise ValueError(text)
    return number

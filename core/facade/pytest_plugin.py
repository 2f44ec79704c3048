"""The pytest plugin: fixtures for tests of rankers; pytest loads it where the package is there.

Nothing of the program is loaded until a test asks for a fixture.
"""

from collections.abc import Callable
from typing import Any

import pytest

from shuffleproof import testing


@pytest.fixture
def assert_invariant() -> Callable[..., None]:
    """`shuffleproof.testing.assert_invariant`."""
    return testing.assert_invariant


@pytest.fixture
def assert_no_worse() -> Callable[..., None]:
    """`shuffleproof.testing.assert_no_worse`."""
    return testing.assert_no_worse


@pytest.fixture(scope="session")
def sample_lists() -> Any:
    """Lists of the shipped sample: `shuffleproof.testing.sample_lists()`."""
    return testing.sample_lists()

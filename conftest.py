"""Settings of all pytest runs: examples in docstrings never touch the user's own store."""

import pytest

collect_ignore_glob = [
    "core/models/gpu_*.py", "core/losses/gpu_*.py", "core/kernels/trial.py",
    "tests/core/models/compiled_*.py",
]  # fmt: skip
"""Without examples, and in need of Triton."""


@pytest.fixture(autouse=True)
def store_of_examples(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An example's store is a temporary one, shared by all examples of a run."""
    if isinstance(request.node, pytest.DoctestItem):
        place = tmp_path_factory.getbasetemp() / "examples"
        monkeypatch.setenv("SHUFFLEPROOF_HOME", str(place))

"""A slice of the fuzzers whose attempts start processes or stores; the long runs are commands."""

import pytest

from tests.soak import (
    fuzz_archives,
    fuzz_collections,
    fuzz_functions,
    fuzz_models,
    fuzz_preferences,
    fuzz_tables,
    fuzzing,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """What the attempts in their own processes start from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(fuzz_archives.PLACE, "")
        patch.setenv(fuzz_models.PLACE, "")
        fuzz_archives.prepared(tmp_path_factory.mktemp("archives") / "sound.zip")
        fuzz_models.prepared(tmp_path_factory.mktemp("models"))
        yield


@pytest.mark.parametrize(
    ("fuzzer", "count", "bounds"),
    [
        (fuzz_archives, 60, fuzz_archives.BOUNDS),
        # A function that never answers may be busy until its own time is over.
        (fuzz_functions, 20, fuzzing.Bounds(3 * fuzz_functions.SECONDS, patience=300.0)),
        (fuzz_models, 8, fuzz_models.BOUNDS),
        (fuzz_preferences, 16, fuzz_preferences.BOUNDS),
        (fuzz_collections, 16, fuzz_collections.BOUNDS),
        (fuzz_tables, 12, fuzz_tables.BOUNDS),
    ],
)
def test_a_slice_of_every_fuzzer_ends_well(prepared, fuzzer, count, bounds):
    tally = fuzzing.run(fuzzer.attempt, count, bounds=bounds)
    assert tally.bad == []
    assert tally.peak < 1 << 30
    assert tally.endings[fuzzing.ACCEPTED] > 0
    assert tally.endings[fuzzing.REFUSED] + tally.endings[fuzzing.WITH_LINE] > count // 4

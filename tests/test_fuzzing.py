"""The fuzzers' own counting: every way in which an attempt may end is told apart."""

import os
import time
from collections import Counter

import numpy as np
import pytest

from shuffleproof.core.errors import ArtefactError, DataError, LetorError
from tests.soak import fuzz_archives, fuzz_files, fuzz_functions, fuzz_letor, fuzzing

pytestmark = pytest.mark.slow

SHORT = fuzzing.Bounds(seconds=0.5, patience=2.0)


def accepted(generator, room):
    (room / "made").write_bytes(generator.bytes(8))
    np.ones(1 << 24)


def refused_with_line(generator, room):
    raise LetorError("a.txt", 3, "x", "no score", "Give one.")


def refused(generator, room):
    raise ArtefactError("data/x", "damaged", "Make it again.")


def without_remedy(generator, room):
    raise DataError("a.txt", "no documents", "")


def control_characters(generator, room):
    raise DataError("a\n.txt", "no documents", "Bring some.")


def wrong(generator, room):
    raise fuzzing.WrongError("1 is not 2")


def unclear(generator, room):
    raise fuzzing.UnclearError("names a folder of ours")


def our_defect(generator, room):
    return {}["key"]


def dies(generator, room):
    os.abort()


def busy(generator, room):
    end = time.process_time() + 0.6
    while time.process_time() < end:
        pass


def silent(generator, room):
    time.sleep(600)


def needs_too_much(generator, room):
    np.ones(1 << 31)


CASES = {
    accepted: fuzzing.ACCEPTED,
    refused_with_line: fuzzing.WITH_LINE,
    refused: fuzzing.REFUSED,
    without_remedy: fuzzing.UNCLEAR,
    control_characters: fuzzing.UNCLEAR,
    wrong: fuzzing.WRONG,
    unclear: fuzzing.UNCLEAR,
    our_defect: fuzzing.TRACEBACK,
    dies: fuzzing.TRACEBACK,
    silent: fuzzing.HANG,
    busy: fuzzing.HANG,
    needs_too_much: fuzzing.TRACEBACK,
}


def every_ending(generator, room):
    """Attempt `number` makes the case of that number: the room is named after it."""
    list(CASES)[int(room.name.rpartition("-")[2])](generator, room)


def test_every_ending_is_told_apart():
    tally = fuzzing.run(every_ending, len(CASES), bounds=SHORT)
    assert tally.endings == Counter(CASES.values())
    bad = [number for number, kind in enumerate(CASES.values()) if kind not in fuzzing.SOUND]
    assert [int(line.split()[0]) for line in tally.bad] == bad
    assert "KeyError" in tally.shown()
    assert tally.peak > 1 << 27


def test_an_input_depends_on_seed_and_number_alone():
    tokens = (b"x", b"\n")
    made = [
        fuzzing.packed(fuzzing.damaged(b"1\n2\n3\n", np.random.default_rng([7, n]), tokens),
                       np.random.default_rng([8, n])) for n in (*range(30), *range(30))
    ]  # fmt: skip
    assert made[:30] == made[30:]
    assert len(set(made)) > 10


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """What the attempts in their own processes start from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(fuzz_archives.PLACE, "")
        patch.setenv(fuzz_files.PLACE, "")
        fuzz_archives.prepared(tmp_path_factory.mktemp("archives") / "sound.zip")
        fuzz_files.prepared(tmp_path_factory.mktemp("models"))
        yield


@pytest.mark.parametrize(
    ("fuzzer", "count", "bounds", "warm"),
    [
        (fuzz_letor, 60, None, fuzzing.WARM),
        (fuzz_archives, 60, fuzz_archives.BOUNDS, 0),
        # A function that never answers may be busy until its own time is over.
        (fuzz_functions, 20, fuzzing.Bounds(3 * fuzz_functions.SECONDS, patience=300.0), 0),
        (fuzz_files, 60, fuzz_files.BOUNDS, 2),
    ],
)
def test_a_slice_of_every_fuzzer_ends_well(prepared, fuzzer, count, bounds, warm):
    tally = fuzzing.run(fuzzer.attempt, count, seed=7, bounds=bounds, warm=warm)
    assert tally.bad == []
    assert tally.peak < 1 << 30
    assert tally.endings[fuzzing.ACCEPTED] > count // 20
    assert tally.endings[fuzzing.REFUSED] + tally.endings[fuzzing.WITH_LINE] > count // 4

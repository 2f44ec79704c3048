"""Reading LETOR text takes at most 1.5 times its matrix, comments and all."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FEATURES, QUERIES, ROUNDS = 46, 2000, 220
MEASURED = """
import io, sys
from pathlib import Path
from shuffleproof.core.data import source
from shuffleproof.core.progress import run_to_end

def status(field):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))

folder = Path(sys.argv[1])
run_to_end(source.loading(folder / "warm.txt"))  # compiles
before = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")  # the peak starts here
loaded = run_to_end(source.loading(folder / "data.txt"))
parts = loaded.fold.train, loaded.fold.valid, loaded.fold.test
matrix = sum(part.features.nbytes for part in parts)
print(matrix, (status("VmHWM") - before) / matrix, len(loaded.notes), parts[0].doc_ids[0])
"""


def row(query: int) -> bytes:
    cells = " ".join(f"{feature}:0.{(query * feature) % 10**6:06d}" for feature in range(1, 47))
    comment = f"docid = GX{query % 1000:03d}-45-{query:07d} inc = 1 prob = 0.{query:07d}"
    return f"{query % 3} qid:{query} {cells} #{comment}\n".encode()


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the peak is measured by Linux's /proc"
)
def test_reading_and_splitting_scattered_rows_with_comments_fits_in_one_and_a_half_matrices(
    tmp_path: Path,
) -> None:
    block = b"".join(row(query) for query in range(QUERIES))
    (tmp_path / "warm.txt").write_bytes(block[: len(block) // 100].rsplit(b"\n", 1)[0] * 2)
    with (tmp_path / "data.txt").open("wb") as file:
        for _ in range(ROUNDS):  # no two neighbours are of one query
            file.write(block)
    program = [sys.executable, "-c", MEASURED, str(tmp_path)]
    answer = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    (tmp_path / "data.txt").unlink()
    matrix, peak, notes, document = re.fullmatch(r"(\d+) (\S+) (\d+) (\S+)\n", answer).groups()
    assert int(matrix) == FEATURES * 4 * QUERIES * ROUNDS
    assert 1.0 <= float(peak) <= 1.5
    assert notes == "1"
    assert document.startswith("GX")

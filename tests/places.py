"""Where the project is, and the real data beside it, which is not everywhere."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
DATA = ROOT.parent / "shared" / "data"

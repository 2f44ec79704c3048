"""Every extra in a clean environment: `make test-extras`, or `python -m tests.extras core slurm`.

A wheel is built and installed, with one extra at a time and the pinned versions, into a fresh
environment outside of this folder, where the commands below are run in an empty home. `oldest` is
`train` and `tune` with the oldest versions that pyproject.toml allows, which takes gigabytes of
CUDA. Prints which commands failed, and the seconds of each environment.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BASH, GIT = shutil.which("bash"), shutil.which("git")
TORCH = "torch==2.13.0"
"""First and alone, as in the Makefile."""

TREES = """
import numpy, xgboost
data = numpy.random.default_rng(0).random((60, 10))
model = xgboost.train({}, xgboost.DMatrix(data, label=data[:, 0]), 3)
model.save_model("model.json")
"""
RIDGE = """
import numpy, skops.io
from sklearn.linear_model import Ridge
data = numpy.random.default_rng(0).random((60, 10))
skops.io.dump(Ridge().fit(data, data[:, 0]), "model.skops")
"""
OBLIVIOUS = """
import catboost, numpy
data = numpy.random.default_rng(0).random((60, 10))
model = catboost.CatBoostRegressor(iterations=3, verbose=0).fit(data, data[:, 0])
model.save_model("model.cbm")
"""
MISSING_GRAPH = "(shuffleproof certify onnx:empty 2>&1 || true) | grep -F 'it is empty'"
DEV = ("beartype", "hypothesis", "ir_measures", "playwright", "polars", "sklearn", "xdist")
TRAIN = "shuffleproof train ranksvm --data sample --initial feature:1 --preset small"
MINE = "printf 'def one(features, mask):\\n    return features[..., 0]\\n' > mine.py"
CORE = (
    "shuffleproof list rankers",
    f"{MINE}; shuffleproof certify mine:one --queries 3",
    "shuffleproof study benchmark --rankers feature:2 --initial feature:1",
)
SMOKE: dict[str, tuple[str, ...]] = {
    "core": (*CORE, "(shuffleproof certify dlcm 2>&1 || true) | grep -F 'shuffleproof[train]'"),
    "train": ("shuffleproof certify dlcm", "shuffleproof train mart --preset small"),
    "tune": ("shuffleproof tune ranksvm --data sample --initial feature:1 --trials 4",),
    "app": ("shuffleproof demo", "shuffleproof app --help"),
    "oldest": (
        *CORE,
        "shuffleproof certify dlcm",
        "shuffleproof train mart --preset small",
        "shuffleproof tune mart --data sample --initial feature:1 --trials 4",
    ),
    "cluster": (f"{TRAIN} --executor ray --workers 1",),
    "dev": (
        *(f"{program} --version" for program in ("ruff", "mypy", "pytest", "pre-commit")),
        "lint-imports --help",
        f"python -c 'import {', '.join(DEV)}'",
    ),
    "slurm": (f"{TRAIN} --executor slurm:local --workers 1",),
    "testing": ("python -c 'from shuffleproof.testing import assert_invariant'",),
    "xgboost": (f"python -c '{TREES}'", "shuffleproof certify xgboost:model.json"),
    "onnx": (f"touch empty; {MISSING_GRAPH}",),
    "catboost": (f"python -c '{OBLIVIOUS}'", "shuffleproof certify catboost:model.cbm"),
    "sklearn": (f"python -c '{RIDGE}'", "shuffleproof certify sklearn:model.skops"),
}
"""By extra, what it is for; `core` is none of them."""

ANSWERS = {"shuffleproof certify dlcm": 3}
"""Exit statuses other than 0: a reader of orders is not invariant."""


def tried(extra: str, wheel: Path, python: str) -> str:
    """Why an extra does not work; empty where it does."""
    with tempfile.TemporaryDirectory() as folder:
        place, home = Path(folder) / "environment", Path(folder) / "home"
        home.mkdir()
        _run([python, "-m", "venv", str(place)])
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "-c"]
        pip += [str(_versions(extra, place)), "--disable-pip-version-check"]
        if extra not in {"core", "oldest"}:
            _run([*pip, TORCH])
        names = {"core": "", "oldest": "[train,tune]"}.get(extra, f"[{extra}]")
        _run([*pip, f"{wheel}{names}"])
        inherited = {name: os.environ[name] for name in ("LANG", "HOME") if name in os.environ}
        given = {
            **inherited, "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "SHUFFLEPROOF_HOME": str(home),
        }  # fmt: skip
        for command in SMOKE[extra]:
            ran = subprocess.run(
                [str(BASH), "-c", command], cwd=folder, env=given, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
            if ran.returncode != ANSWERS.get(command, 0):
                words = (ran.stderr or ran.stdout).strip()[-2000:]
                return f"`{command}` ended with {ran.returncode}:\n{words}"
    return ""


def _versions(extra: str, folder: Path) -> Path:
    """The file that pins versions: the oldest that are allowed, or those of development."""
    if extra != "oldest":
        return ROOT / "constraints.txt"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    wanted = [*project["dependencies"], *optional["train"], *optional["tune"]]
    oldest = folder / "oldest.txt"
    oldest.write_text("\n".join(one.replace(">=", "==") for one in wanted))
    return oldest


def built(folder: Path) -> Path:
    """The wheel of this tree, of a copy of what git knows of it."""
    source = folder / "source"
    names = subprocess.check_output([str(GIT), "ls-files"], cwd=ROOT, text=True).splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    words = ["wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(source)]
    _run([sys.executable, "-m", "pip", *words])
    (wheel,) = folder.glob("*.whl")
    return wheel


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True)


def main(names: list[str]) -> int:
    """Try extras, by default all; 1 where one does not work."""
    python = os.environ.get("PYTHON", sys.executable)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        wheel = built(Path(folder))
        for name in names or list(SMOKE):
            start = time.monotonic()
            why = tried(name, wheel, python)
            failed += bool(why)
            sys.stdout.write(f"{name}: {why or 'works'} ({time.monotonic() - start:.0f} s)\n")
            sys.stdout.flush()
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

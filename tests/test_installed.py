"""Installed as a wheel: one name in site-packages, whatever lies in the folder of who uses it."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests import docs

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
LISTS = ("--initial", "feature:1", "--depth", "10", "--scores", "in-sample")


def run(command, cwd, home, site, status=0):
    environment = os.environ | {"SHUFFLEPROOF_HOME": str(home), "PYTHONPATH": str(site)}
    ended = subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ended.returncode == status, ended.stderr[-2000:]
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    place, source = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("source")
    for name in ("core", "app", "docs", "sample_data", ".streamlit"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(place), str(source)], check=True)
    (made,) = place.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    for source in (ROOT / "core").rglob("*.py"):
        installed = place / "shuffleproof" / source.relative_to(ROOT)
        if installed.read_bytes() == source.read_bytes():
            share_compiled(source, installed)
    return place


def share_compiled(source, installed):
    """Numba compiles a function once a file, time and size: here the source's code is used."""
    for compiled in source.parent.glob(f"__pycache__/{source.stem}.*.nb[ic]"):
        beside = installed.parent / "__pycache__" / compiled.name
        beside.parent.mkdir(exist_ok=True)
        shutil.copy(compiled, beside)
        modified = source.stat().st_mtime_ns
        os.utime(installed, ns=(modified, modified))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def users(tmp_path):
    """A folder whose own modules are called as ours once were."""
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "__init__.py").write_text("")
    (tmp_path / "core" / "ranker.py").write_text(
        "def one(features, mask):\n    return features[..., 0]\n"
    )
    (tmp_path / "app.py").write_text("raise SystemExit('the app of somebody else')\n")
    return tmp_path


def test_the_wheel_holds_every_module_of_the_source(wheel):
    modules = {path for top in ("core", "app") for path in (ROOT / top).rglob("*.py")}
    assert all((path.parent / "__init__.py").exists() for path in modules)
    found = {f"shuffleproof/{path.relative_to(ROOT).as_posix()}" for path in modules}
    facade = {name.replace("core/facade/", "") for name in found if "core/facade/" in name}
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert found | facade == {name for name in inside if name.endswith(".py")}
    data = {f"shuffleproof/{path.relative_to(ROOT)}" for path in (ROOT / "core").rglob("*.json")}
    assert data
    assert data <= inside


def test_the_wheel_puts_one_name_into_site_packages(wheel):
    paths = zipfile.ZipFile(wheel).namelist()
    names = {name.partition("/")[0] for name in paths}
    assert {name for name in names if not name.endswith(".dist-info")} == {"shuffleproof"}
    assert {f"shuffleproof/docs/{page.name}" for page in docs.PAGES} < set(paths)


def test_a_folder_with_a_package_core_and_a_module_app_disturbs_nothing(users, home, site):
    told = run(
        ["-m", "shuffleproof", "certify", "core.ranker:one", "--queries", "3", "--json", *LISTS],
        users, home, site,
    )  # fmt: skip
    assert json.loads(told)["verdict"] == "invariant"
    ask = ["-m", "shuffleproof", "study", "invariance", "--rankers", "feature:2"]
    study = json.loads(run([*ask, "--permutations", "2", "--json", *LISTS], users, home, site))
    run(["-m", "shuffleproof", "export", study["result"], "found.html"], users, home, site)
    assert "What happens to my ranker when its input changes?" in (users / "found.html").read_text(
        encoding="utf-8"
    )


def test_a_script_beside_a_package_core_imports_ours(users, home, site):
    script = users / "script.py"
    script.write_text(
        "import core.ranker\n"
        "import shuffleproof\n"
        "from shuffleproof import Invariance, ask\n"
        "print(shuffleproof.__file__)\n"
        "result = ask(Invariance(('feature:2',), permutations=2), initial=('feature:1',),\n"
        "             depth=10, scores='in-sample')\n"
        "print(len(result.query_ids))\n"
    )
    place, queries = run([str(script)], users, home, site).split()
    assert Path(place).is_relative_to(site)
    assert int(queries) == 150


def test_the_sample_and_its_rankers_come_along(users, home, site):
    ask = ["-m", "shuffleproof", "certify", "dlcm", "--queries", "2", "--permutations", "2"]
    told = json.loads(run([*ask, "--json"], users, home, site, status=3))
    assert told["verdict"] == "not invariant"
    assert not list(home.glob("artefacts/ranker-*/model*")), "nothing had to be trained"


def test_the_dashboards_settings_come_along(users, home, site):
    told = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    wanted = {f"{one}.{name}": value for one, own in told.items() for name, value in own.items()}
    program = (
        "import json; from shuffleproof.app import server; print(json.dumps(server.settings()))"
    )
    assert json.loads(run(["-c", program], users, home, site)) == wanted
    assert wanted["client.showErrorDetails"] == "none"


@pytest.mark.parametrize("name", ["ask", "Workbench", "StudyResult", "WorstCase"])
def test_the_package_has_what_scripts_ask_for(name):
    import shuffleproof

    assert name in dir(shuffleproof)
    assert getattr(shuffleproof, name).__name__ == name
    with pytest.raises(AttributeError, match="nothing_of_ours"):
        _ = shuffleproof.nothing_of_ours


def test_every_question_can_be_imported_from_the_package():
    import shuffleproof
    from shuffleproof.core.studies.registry import STUDIES

    for question in STUDIES.values():
        assert getattr(shuffleproof, question.__name__) is question

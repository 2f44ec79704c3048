"""A stored result of a kind that this version no longer has: it stays in the library."""

import hashlib
import json
import shutil

import pytest
from streamlit.testing.v1 import AppTest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.store.keys import key_of
from tests.golden import script

KIND = "attention"


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A store with one study of a kind that was removed, and the key of that study."""
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(tmp_path))
    shipped = next(
        study
        for study in default_store().artefacts("study")
        if study.recipe["kind"] == "worst-case"
    )
    recipe = dict(shipped.recipe) | {"kind": KIND}
    key = key_of("study", recipe)
    place = tmp_path / "artefacts" / str(key)
    shutil.copytree(shipped.path, place)
    told = (place / "study.json").read_text().replace("worst-case", KIND).encode()
    (place / "study.json").write_bytes(told)
    manifest = json.loads((place / "manifest.json").read_text())
    manifest |= {"recipe": recipe, "digest": key.digest}
    digest = hashlib.sha256(told).hexdigest()
    manifest["files"]["study.json"] = {"bytes": len(told), "sha256": digest}
    (place / "manifest.json").write_text(json.dumps(manifest))
    return Store(tmp_path, default_store().bundled), str(key)


@pytest.mark.parametrize("path", ["library", "", "jobs", "attention", "present"])
def test_pages_open(old, path):
    page = AppTest.from_function(script, default_timeout=240, kwargs={"path": path})
    page.query_params["chosen"] = page.query_params["study"] = old[1]
    page.run()
    assert not page.exception
    assert not page.error


def test_the_library_lists_shows_and_deletes_it(old, capsys):
    assert main(["library", "list", "--kind", "study", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["rows"]
    (row,) = [row for row in listed if row["key"] == old[1]]
    assert row["name"] == KIND
    assert main(["library", "show", old[1]]) == 0
    assert f"this version has no study {KIND}" in capsys.readouterr().out
    assert main(["library", "delete", old[1]]) == 0


@pytest.mark.parametrize("out", ["result.html", "result.md", "result.pdf"])
def test_its_export_is_refused_in_a_sentence(old, out, tmp_path, capsys):
    assert main(["export", old[1], str(tmp_path / out)]) == 2
    assert f"this version has no study {KIND}" in capsys.readouterr().err


def test_its_numbers_are_exported(old, tmp_path):
    assert main(["export", old[1], str(tmp_path / "result.csv")]) == 0
    assert (tmp_path / "result.csv").read_text().count("\n") > 1

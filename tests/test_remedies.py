"""A full or read-only disk and a damaged table of jobs are told with what to do about them."""

import ast
import errno
import os
import re
import sqlite3
from pathlib import Path

import pytest

import app
import core
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import JobError
from shuffleproof.core.execution.jobs import Jobs
from shuffleproof.core.store import locks, records

ERRORS = {"full": errno.ENOSPC, "read-only": errno.EROFS, "of another owner": errno.EACCES}
WORDS = {"full": "Free some space", "read-only": "--store", "of another owner": "--store"}
CERTIFY = ["certify", "feature:1", "--initial", "feature:3", "--permutations", "2"]


def failing(function, number, fits):
    """A system call that fails for the paths that fit."""

    def call(path, *more, **named):
        if fits(str(path)):
            raise OSError(number, os.strerror(number), str(path))
        return function(path, *more, **named)

    return call


@pytest.mark.parametrize("disk", ERRORS)
def test_a_store_that_takes_nothing_is_told_with_a_remedy(tmp_path, monkeypatch, capsys, disk):
    """At the first lock, at a trial and at the result."""
    assert main([*CERTIFY, "--store", str(tmp_path)]) == 0
    more = [*CERTIFY, "--seed", "7", "--store", str(tmp_path)]
    places = {
        "the lock": (locks.os, "open", lambda path: path.endswith(".lock")),
        "a trial": (records, "_write_whole", lambda path: "records" in path),
        "the result": (Path, "write_text", lambda path: path.endswith("study.json")),
    }
    for what, (owner, name, fits) in places.items():
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, failing(getattr(owner, name), ERRORS[disk], fits))
            capsys.readouterr()
            assert main(more) == 1, what
            said = capsys.readouterr().err
        assert WORDS[disk] in said, what
        assert "Traceback" not in said, what
        assert not list((tmp_path / "incoming").glob("*")), what
    assert main(more) == 0


def other_table(path):
    with sqlite3.connect(path) as table:
        table.execute("CREATE TABLE job (x)")


def no_json(path):
    Jobs(path.parent.parent).submit("train", {"ranker": "dlcm"})
    with sqlite3.connect(path) as table:
        table.execute("UPDATE job SET parameters = '{', progress = '[[['")


def cut(path):
    Jobs(path.parent.parent).submit("train", {"ranker": "dlcm"})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES = [other_table, no_json, cut, Path.mkdir, lambda path: path.write_text("x" * 9999)]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_table_of_jobs_is_told_with_a_remedy(tmp_path, capsys, damage):
    path = tmp_path / "jobs" / "jobs.sqlite"
    path.parent.mkdir()
    damage(path)
    with pytest.raises(JobError, match="the file of jobs cannot be used") as told:
        Jobs(tmp_path).list()
    assert "rename the file" in str(told.value)
    path.rename(tmp_path / "away")
    assert Jobs(tmp_path).list() == ()


# --- every message of the code ------------------------------------------------------------------

WITH_PARTS = {"ArtefactError": 2, "DataError": 2, "JobError": 2, "LetorError": 4}
"""Errors whose remedy is an argument of its own, and which one."""

WHOLE = {"ShuffleproofError", "UsageError"}
"""Errors of one text, whose remedy stands behind a colon, a semicolon or a full stop."""

DOING = re.compile(
    r"[:;.,] .*(`\w|\b(?i:add|bring|choose|cut|give|install|leave|name|remove|run|say|start|study"
    r"|take|train|use|write|written)\b)|; …$"
)
HANDED_ON = {"str(error).replace(f'{folder}/', '')", "words"}
"""Texts of other errors, in which our folders are left out."""


def messages():
    """File and line, class and arguments of every deliberate error that code makes."""
    for package in (core, app):
        home = Path(package.__file__).parent
        for path in sorted(home.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    place = f"{path.relative_to(home.parent)}:{node.lineno}"
                    yield place, node.func.id, node.args


def worded(node):
    """The text of an argument, with … for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(worded, node.values))
    if isinstance(node, ast.BinOp):
        return worded(node.left) + worded(node.right)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "…"


def test_every_message_says_what_to_do():
    whole = [
        (place, worded(arguments[0])) for place, name, arguments in messages()
        if name in WHOLE and ast.unparse(arguments[0]) not in HANDED_ON
    ]  # fmt: skip
    parts = [
        (place, worded(arguments[WITH_PARTS[name]])) for place, name, arguments in messages()
        if name in WITH_PARTS and not any(isinstance(one, ast.Starred) for one in arguments)
    ]  # fmt: skip
    assert len(whole) > 60
    assert len(parts) > 140
    assert [one for one in whole if not DOING.search(one[1])] == []
    assert [one for one in parts if not one[1].strip()] == []

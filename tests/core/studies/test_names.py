"""A name that nothing has is refused before anything is trained: by every command, by every job."""

import argparse
import inspect
from dataclasses import replace

import pytest

from shuffleproof.core import jobs
from shuffleproof.core.cli import arguments
from shuffleproof.core.cli.arguments import parser
from shuffleproof.core.errors import ArtefactError, DataError, ShuffleproofError, UnknownNameError
from shuffleproof.core.parameters import parameters
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import names, workbench
from shuffleproof.core.studies.kinds.benchmark.outside_runs import is_of_runs
from shuffleproof.core.studies.methods import rankers_of
from shuffleproof.core.studies.registry import STUDIES

SPOILT = {
    "--rankers": ("mart,lambdamrt", "lambdamart"),
    "--ranker": ("setrank-imsab-innit", "setrank-imsab-init"),
    "--measures": ("NDCG@10,NDGC@5", "NDCG@5"),
    "--measure": ("NDGC@5", "NDCG@5"),
    "--families": ("shuffle,transposition", "transpositions"),
    "--initial": ("lambdamrt", "lambdamart"),
    "--preset": ("tunned", "tuned"),
    "--swaps": ("oracle,lambdamrt", "lambdamart"),
    "--against": ("marts", "mart"),
    "--towards": ("relased", "released"),
}
"""Flags that name something: a value with a misspelt name, and what was meant."""

NEEDED = {"--rankers": "mart", "--families": "shuffle"}


def studies():
    """Every command of `study`, by name."""
    return parts(parts(parser())["study"])


def parts(command):
    (found,) = [
        action for action in command._actions if isinstance(action, argparse._SubParsersAction)
    ]
    return found.choices


def flags(command):
    return {flag for action in command._actions for flag in action.option_strings}


CASES = [
    (["study", name], flag, sorted(set(NEEDED) & flags(command) - {flag}))
    for name, command in studies().items()
    for flag in SPOILT
    if flag in flags(command)
]
CASES += [(["train", "mart"], flag, []) for flag in ("--initial", "--preset")]


@pytest.fixture
def untouched(monkeypatch):
    """Nothing may be listed or trained while a test runs."""

    def prepared(*_given, **_named):
        pytest.fail("lists are made before the names are known")

    monkeypatch.setattr(workbench, "prepare", prepared)


def refused(given, root, capsys):
    """What a command that is refused says; nothing is in its store after it."""
    try:
        status = arguments.main([*given, "--store", str(root)])
    except SystemExit as ended:  # a flag of few choices, refused while the line is read
        status = ended.code
    assert status == 2
    said = capsys.readouterr().err
    assert "defect" not in said
    made = {artefact.key.kind for artefact in Store(root).artefacts()} if root.exists() else set()
    assert made <= {"data"}
    return said


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join((*case[0], case[1])))
def test_every_command_refuses_a_misspelt_name_at_once(case, tmp_path, capsys):
    command, flag, needed = case
    misspelt, meant = SPOILT[flag]
    given = [*command, *(one for name in needed for one in (name, NEEDED[name]))]
    if (*command, flag) == ("study", "card", "--measures"):
        given += ["--out", "card.json"]  # whose measures they are
    said = refused([*given, flag, misspelt], tmp_path / "store", capsys)
    assert f"did you mean {meant}?" in said


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("train", "lambdamrt"), "did you mean lambdamart?"),
        (("certify", "lambdamrt"), "did you mean lambdamart?"),
        (("train", "dlcm", "--set", "epoch=3"), "epoch"),
        (("train", "rrf:dlcm+lambdamrt"), "did you mean lambdamart?"),
        (("study", "worst-case", "--rankers", "mart", "--set", "widht=3"), "widht"),
        (("study", "card", "--rankers", "mart", "--families", "label-noise"), ""),
        (
            ("study", "perturbations", "--rankers", "mart", "--families", "gradient-sign@dlmc"),
            "did you mean dlcm?",
        ),
        (
            ("study", "perturbations", "--rankers", "mart", "--families", "shuffle:1+shufle-shown"),
            "did you mean shuffle-input?",
        ),
    ],
)
def test_so_does_what_is_named_elsewhere(given, said, tmp_path, capsys):
    assert said in refused(given, tmp_path / "store", capsys)


JOBS = {
    "rankers": ["mart", "lambdamrt"],
    "ranker": "setrank-imsab-innit",
    "measures": ["NDGC@5"],
    "families": ["transposition"],
    "perturbations": [["transposition", 1.0]],
    "swaps": ["lambdamrt"],
    "towards": ["relased"],
    "lists": {"initial": ["lambdamrt@small"]},
    "preset": "tunned",
}
"""Parameters of jobs that name something, with a misspelt name."""

REQUIRED = {"rankers": ["mart"], "perturbations": [["shuffle", 1.0]]}


def given(kind):
    """What a job of a kind must be given beside its data set."""
    needed = [one.name for one in parameters(STUDIES[kind]) if one.is_required]
    return {name: REQUIRED[name] for name in needed}


GIVEN = {kind: {"ranker": "mart"} for kind in ("train", "doctor", "tune")} | {
    kind: given(kind) for kind in STUDIES
}


def taking(kind):
    found = inspect.signature(jobs.KINDS[kind]).parameters
    return [name for name in JOBS if name in found] if "lists" in found else []


@pytest.mark.parametrize(
    ("kind", "parameter"), [(kind, name) for kind in jobs.KINDS for name in taking(kind)]
)
def test_no_job_with_a_misspelt_name_is_taken(kind, parameter, tmp_path):
    store = Store(tmp_path)
    asked = {"data": "sample"} | GIVEN.get(kind, {}) | {parameter: JOBS[parameter]}
    with pytest.raises(UnknownNameError, match="did you mean"):
        jobs.submit(store, kind, asked)
    assert not jobs.jobs_of(store).list()


@pytest.mark.parametrize("name", ["mine:score", "scores:/etc/hostname", "lightgbm:/etc/hostname"])
def test_what_a_page_hands_in_names_no_file_and_no_function_of_this_machine(name, tmp_path):
    with pytest.raises(ShuffleproofError):
        jobs.submit(Store(tmp_path), "invariance", {"data": "sample", "rankers": [name]})


def test_what_is_named_rightly_passes(tmp_path):
    store, mine = Store(tmp_path), tmp_path / "mine.txt"
    mine.write_text("1\n")
    asked = names.Names(
        rankers=("table2", "rrf:dlcm+mart@small", "feature:3", f"scores:{mine}", "json:dumps"),
        initial=ListRecipe(("feature:3",)).rankers,
        measures=("NDCG(empty=skip)@10",),
        families=("transpositions:5+shuffle-shown", "gradient-sign@dlcm"),
        perturbations=(("shuffle", 0.5),),
        swaps=("oracle", "ranksvm"),
        from_outside=True,
    )
    names.check(asked, "small", store)
    with pytest.raises(DataError, match="no such file"):
        names.check(names.Names(rankers=("scores:none",), from_outside=True), "small", store)
    with pytest.raises(ArtefactError):
        names.check(names.Names(rankers=("dlcm#0123456789abcdef",)), "small", store)


def test_functions_of_this_machine_are_named_only_where_that_is_said(tmp_path):
    asked = names.Names(rankers=("os.path:join",))
    with pytest.raises(ShuffleproofError, match=r"os\.path:join"):
        names.check(asked, "small", Store(tmp_path))
    names.check(replace(asked, from_outside=True), "small", Store(tmp_path))


def test_what_studies_call_their_rankers_is_taken_by_every_command(every_study):
    store, studies, _ = every_study
    for kind, study in studies.items():
        called = study.facts["ranker"] if kind == "ablation" else None
        labels = [called] if called else rankers_of(study.recipe)
        named = [] if is_of_runs(study.recipe) else labels
        names.check(names.Names(rankers=named, from_outside=True), "small", store)

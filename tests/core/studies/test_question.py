"""Every kind of question: one declaration gives flags, job, command, Python and refusals."""

import inspect
import shlex
from functools import cache

import pytest

from shuffleproof.core import jobs
from shuffleproof.core.cli import flags
from shuffleproof.core.cli.arguments import parser
from shuffleproof.core.data.catalogue import SAMPLE_FOLDER
from shuffleproof.core.errors import ParameterError, UnknownNameError, UsageError
from shuffleproof.core.parameters import parameters
from shuffleproof.core.perturb.levels import levels_of
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import methods, reproduce
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import COLLECTION_STUDIES, EVERY, STUDIES, page_of
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.tables import Table
from tests import places

LEVELS = tuple(("shuffle", level) for level in levels_of("shuffle", "0.25"))
NAMED = {
    "rankers": ("mart",),
    "measures": ("RR",),
    "perturbations": LEVELS,
    "families": ("shuffle", "mallows"),
}
SPECIAL = {
    "invariance": {"rankers": ("dlcm", "mart@tuned")},
    "initial-ranking": {
        "measures": ("NDCG(ideal=shown,ties=row)@5", "RR"),
        "perturbations": tuple(
            (family, level) for family in ("shuffle", "mallows") for level in levels_of(family)
        ),
    },
    "benchmark": {"rankers": ("rrf:dlcm+mart", "gsf")},
    "ablation": {
        "ranker": "dlcm", "sizes": "small", "towards": ("released",), "levels": (0.0, 2.5)
    },
    "set-size": {"trained_on": (5,), "sizes": (5, 20)},
    "initial-rankings": {"swaps": ("oracle", "feature:2")},
    "worst-case": {
        "search": {"method": "beam", "unit": "exchanges", "width": 2}, "measures": ("NDCG@5",)
    },
    "group-shuffles": {"rankers": ("gsf@tuned",)},
}  # fmt: skip
"""Values that `another` does not know, or that are harder to say in a command."""


def another(field):
    """A value that is not a field's default."""
    if field.names in NAMED:
        return NAMED[field.names]
    if field.choices:
        return next(one for one in field.choices if one != field.default)
    if field.several:
        return (max(field.default or (2,)) + 1,)
    return 7 if field.default is None else field.default + 1


OTHER = {
    kind: {one.name: another(one) for one in parameters(question) if one.name not in special}
    | special
    for kind, question in STUDIES.items()
    for special in [SPECIAL.get(kind, {})]
}
"""Of every kind, a value that is not its default for every field."""

KINDS = tuple(STUDIES)
UNCHANGING = {"benchmark"}
"""Kinds that compare rankers on the lists as they are."""

FACTS = ({"data": "sample"}, {"data": "my set", "preset": "small"})


def room_of(question):
    """The name of a kind's folder."""
    return question.__module__.split(".")[-2]


@cache
def shipped(kind):
    """The study of a kind that ships with the program."""
    of_kind = [one for one in Store(SAMPLE_FOLDER).artefacts("study") if one.recipe["kind"] == kind]
    assert of_kind, f"no {kind} ships with the program: `make sample` stores it"
    return of_kind[0]


def asked(kind):
    return STUDIES[kind](**OTHER[kind])


def least(kind):
    """The question with nothing but what it must be given."""
    needed = {field.name for field in parameters(STUDIES[kind]) if field.is_required}
    return STUDIES[kind](**{name: OTHER[kind][name] for name in needed})


def read(command):
    """The question that a command asks."""
    words = shlex.split(command)
    arguments = parser().parse_args(words[1:])
    preset = arguments.preset or ("small" if arguments.data == "sample" else "paper")
    return flags.question_of(STUDIES[words[2]], arguments, preset)


def test_every_folder_of_a_kind_is_registered():
    assert {name.partition(" ")[2] for name in flags.table() if name.startswith("study ")} < set(
        EVERY
    )
    rooms = {room_of(question) for question in EVERY.values()}
    for folder in (places.ROOT / "core/studies/kinds").glob("*/question.py"):
        name = folder.parent.name
        assert name in rooms, f"core/studies/registry.py has no line for {name}"


@pytest.mark.parametrize("kind", EVERY)
def test_every_kind_tells_what_it_asks_and_what_it_found(kind):
    question = EVERY[kind]
    for name in ("title", "source", "summary"):
        assert getattr(question, name, ""), f"{question.__name__} lacks its {name}: see `Question`"
    study = question.module("study")
    if kind in COLLECTION_STUDIES:
        assert "compute" in vars(study.Plan), f"the Plan of {kind} does not compute its cells"
    else:
        assert hasattr(study, "run"), f"study.py of {kind} has no function run"
    for name in ("headline", "sections", "answer"):
        assert hasattr(question.sections_module(), name), (
            f"sections.py of {kind} has no function {name}"
        )


@pytest.mark.parametrize("kind", EVERY)
def test_every_kind_has_a_page(kind):
    from shuffleproof.app.navigation import PAGES

    page = PAGES.get(page_of(kind))
    assert page, f"app/navigation.py has no page at {page_of(kind)}, which shows {kind}"
    assert page.about, f"app/navigation.py does not say what the page {page.path} is about"
    pins = {"study", "query"} & set(page.pins)  # some show a list, and find its study by it
    assert pins, f"app/navigation.py: the address of {page.path} does not pin its study"


@pytest.mark.parametrize("kind", EVERY)
def test_every_kind_has_sample_test_and_words(kind):
    import shuffleproof

    assert shipped(kind)
    words = EVERY[kind].command_words()
    of_varied = f"_{words[-1]}" if len(words) > 1 else ""
    test = places.TESTS / f"core/studies/kinds/test_{room_of(EVERY[kind])}{of_varied}.py"
    assert test.exists(), f"{kind} has no test {test.relative_to(places.ROOT)}"
    assert "def test_" in test.read_text(encoding="utf-8"), f"{test.name} tests nothing"
    assert EVERY[kind].__name__ in dir(shuffleproof)


@pytest.mark.parametrize("kind", sorted(set(EVERY) - UNCHANGING))
def test_every_kind_tells_methods_what_it_does(kind):
    study = shipped(kind)
    assert methods.settings(study.recipe, study.facts), f"{kind} tells no settings"


@pytest.mark.parametrize("kind", EVERY)
def test_a_kind_that_shows_p_values_says_that_it_tests(kind):
    result = StudyResult.open(shipped(kind).path)
    told = EVERY[kind].sections_module().sections(result, View())
    keys = {column.key for one in told if isinstance(one, Table) for column in one.columns}
    tests = {key for key in keys if key == "p" or key.endswith("_p")}
    assert EVERY[kind].tested or not tests, f"{kind} shows {tests}: its question is `tested`"


def test_every_field_of_every_kind_is_tried():
    for kind, values in OTHER.items():
        fields = {field.name for field in parameters(STUDIES[kind])}
        assert set(values) == fields, f"SPECIAL of {kind} names what is no field"
        for field in parameters(STUDIES[kind]):
            tried = values[field.name] != field.default
            assert tried, f"SPECIAL lacks another value of {field.name} of {kind}"


@pytest.mark.parametrize("facts", FACTS)
@pytest.mark.parametrize("made", [asked, least])
@pytest.mark.parametrize("kind", KINDS)
def test_the_command_asks_the_same_question(kind, made, facts):
    question = made(kind)
    assert read(reproduce.command_of(question, facts)) == question


@pytest.mark.parametrize("made", [asked, least])
@pytest.mark.parametrize("kind", KINDS)
def test_the_python_asks_the_same_question(kind, made, monkeypatch):
    heard = []

    class Heard(Exception):  # noqa: N818 (no error: it ends the lines of Python)
        pass

    def ask(question, data, **scope):
        heard.append((question, data, scope))
        raise Heard

    monkeypatch.setattr("shuffleproof.core.studies.workbench.ask", ask)
    question = made(kind)
    with pytest.raises(Heard):
        exec(reproduce.python_of(question, FACTS[1]), {})  # noqa: S102 (our own lines)
    assert heard == [(question, "my set", {"preset": "small"})]


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_without_flags_asks_what_a_job_without_parameters_does(kind, tmp_path):
    question, job = least(kind), jobs.KINDS[kind]
    needed = {field.name for field in parameters(question) if field.is_required}
    given = {name: value for name, value in OTHER[kind].items() if name in needed}
    bound = inspect.signature(job).bind(None, data="mine", **given)
    bound.apply_defaults()
    values = {name: value for name, value in bound.arguments.items() if name != "store"}
    store = Store(tmp_path)
    assert job.question_of(store, values) == (question, Scope(store, "mine"))


@pytest.mark.parametrize("kind", KINDS)
def test_json_gives_the_same_question(kind):
    lists = {name: _lists(value) for name, value in OTHER[kind].items()}
    assert STUDIES[kind].from_plain(lists) == asked(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_json_of_another_type_is_refused(kind):
    for field in parameters(STUDIES[kind]):
        wrong = [float("inf"), object(), {"a"}, [[None]], True]
        wrong += [] if field.names and field.type is str else [["x", 1, "y"]]
        for value in wrong:
            with pytest.raises(ParameterError, match=field.name):
                STUDIES[kind].from_plain(OTHER[kind] | {field.name: value})


def test_where_counts_are_usual_none_at_all_are_refused():
    fields = [(kind, one) for kind in KINDS for one in parameters(STUDIES[kind]) if one.several]
    counts = [(kind, one.name) for kind, one in fields if one.low == 1 and one.default]
    assert ("worst-case", "budgets") in counts
    assert ("group-shuffles", "shuffles") in counts
    for kind, name in counts:
        with pytest.raises(ParameterError, match=f"{name}.*one or more whole numbers"):
            STUDIES[kind].from_plain(OTHER[kind] | {name: []})


def _lists(value):
    return [_lists(one) for one in value] if isinstance(value, tuple) else value


BOUNDED = [(kind, field) for kind in KINDS for field in parameters(STUDIES[kind])
           if field.low is not None or field.choices]  # fmt: skip


@pytest.mark.parametrize(("kind", "field"), BOUNDED, ids=lambda one: getattr(one, "name", one))
def test_what_is_out_of_bounds_is_refused(kind, field):
    beyond = "nothing" if field.choices else field.low - 1
    several = isinstance(OTHER[kind][field.name], tuple)
    wrong = {field.name: (beyond,) if several else beyond}
    with pytest.raises(ParameterError, match=field.name):
        STUDIES[kind](**OTHER[kind] | wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_names_that_nothing_has_are_refused_before_anything_is_made(kind, tmp_path):
    scope = Scope(Store(tmp_path))
    for field in parameters(STUDIES[kind]):
        if field.names in {"rankers", "measures", "families"}:
            wrong = "no such name" if field.type is str else ("no such name",)
            question = STUDIES[kind](**OTHER[kind] | {field.name: wrong})
            with pytest.raises((UnknownNameError, ParameterError)):
                question.check(scope)
    wrong = Scope(Store(tmp_path), lists={"initial": ["no such name"]})
    with pytest.raises(UsageError):
        least(kind).check(wrong)


@pytest.mark.parametrize("kind", [name for name, one in STUDIES.items() if name != "ablation"])
def test_a_study_of_no_ranker_is_refused(kind, tmp_path):
    asked = {one.name: one.default for one in parameters(STUDIES[kind]) if not one.is_required}
    if "perturbations" in {one.name for one in parameters(STUDIES[kind])}:
        asked["perturbations"] = (("cut", 0.5),)
    question = STUDIES[kind](**asked | {"rankers": ()})
    with pytest.raises(UsageError, match="name at least one"):
        question.check(Scope(Store(tmp_path)))

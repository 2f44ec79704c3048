"""What a person types and reads in a shell: names, recipes, widths of tables, examples, counts."""

import json
import re
import shlex
from functools import partial

import pytest

from shuffleproof.core.cli import arguments, flags
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.cli.rankers import recipe_rows
from shuffleproof.core.metrics.bundles import BUNDLES
from shuffleproof.core.metrics.measure import ALIASES, MEASURES
from shuffleproof.core.perturb.levels import pairs_of
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.name import SPOKEN, RankerName, parse_forgiving
from shuffleproof.core.rankers.registry import FEATURE, RANKERS
from shuffleproof.core.store.artefacts import default_store
from shuffleproof.core.studies import aligned_text, table_text
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import EVERY, STUDIES
from shuffleproof.core.studies.user_names import of, row_name

FIGURE = partial(STUDIES["initial-ranking"], perturbations=(("shuffle", 0.0),))


def in_json(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_a_ranker_is_known_by_every_way_to_write_it(name):
    text = name.replace(FEATURE, "feature:3")
    preset = RANKERS[name].presets[-1]
    named = RankerName.parse(text).at(preset)
    ways = [text, f" {text.upper()} "]
    assert {parse_forgiving(way) for way in ways} == {text}
    if name in SPOKEN:
        assert {
            parse_forgiving(SPOKEN[name]),
            parse_forgiving(SPOKEN[name].replace(" + ", " ")),
        } == {text}
        assert parse_forgiving(named.display) == str(named) == parse_forgiving(f"{text} @ {preset}")
        assert parse_forgiving(f"{SPOKEN[name]} 4c0e01111676") == f"{text}#4c0e01111676"
        assert parse_forgiving(f"RRF: {SPOKEN[name]} + Ideal") == f"rrf:{text}+ideal"


@pytest.mark.parametrize(
    "text", ["lightgbm:My Model.txt", "scores:/A/B.txt", "Mine:Score", "python:Mine"]
)
def test_files_and_functions_keep_their_letters(text):
    assert parse_forgiving(text) == text == str(RankerName.parse(text))


def test_printed_names_are_taken_by_questions(capsys):
    """What `list` and the library print, given back to a study of the sample that ships."""
    rows = in_json(capsys, "library", "list")["rows"]
    stored = [row for row in rows if row["key"].startswith("ranker-")]
    key = stored[0]["key"]
    digits = key.removeprefix("ranker-")
    name = f"{stored[0]['name']}#{digits[:12]}"
    store = default_store()
    for text in (key, digits, digits[:10], f"{stored[0]['name']}#{digits}", name):
        question = FIGURE(rankers=(text,))
        question.check(Scope(store))
        (found,) = question.in_store(store).rankers
        assert registry.RankerName.parse(found).base == stored[0]["name"]
        assert RankerName.parse(found).last_digits.startswith(digits[:10])
    for kind, field in (("measures", "measures"), ("rankers", "rankers")):
        for row in in_json(capsys, "list", kind)["rows"]:
            FIGURE(
                **{"rankers": ("dlcm",), field: (row["name"].replace(FEATURE, "feature:3"),)}
            ).check(Scope(store))
    for row in in_json(capsys, "list", "perturbations")["rows"]:
        assert pairs_of([f" {row['name'].upper()} "]) == pairs_of([row["name"]])
    for row in in_json(capsys, "list", "conventions")["rows"]:
        flags = ["runs", "a.run", "--qrels", "q", "--conventions", f" {row['name'].upper()} "]
        assert arguments.parser().parse_args(flags).conventions in BUNDLES
    study = next(row["key"] for row in rows if row["key"].startswith("study-"))
    assert in_json(capsys, "library", "show", study)["key"] == study


def test_blanks_and_case_are_forgiven_where_names_are_taken():
    meant = FIGURE(rankers=("lambdamart", "dlcm"), measures=("NDCG@10", "AP"))
    assert FIGURE(rankers=(" LambdaMART ", "Dlcm"), measures=(" ndcg@10", "map")) == meant
    assert of("families", (" Shuffle input", "shuffle-shown")) == ("shuffle-shown",) * 2
    assert of("rankers", ("Table2 ",)) == ("table2",)
    assert row_name("bm25", ["BM25"]) == "BM25"
    assert {parse_forgiving(text) for text in ("Initial ranking", "initial ranking")} == {
        "initial ranking"
    }


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_measures_are_known_as_other_programs_write_them(name):
    texts = [name, name.upper(), *(alias for alias, ours in ALIASES.items() if ours == name)]
    assert {of("measures", (text,)) for text in texts} == {(name,)}


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_every_field_of_a_recipe_is_told(name, capsys):
    text = name.replace(FEATURE, "feature:3")
    for preset in RANKERS[name].presets:
        rows = recipe_rows(RankerName.parse(f"{text}@{preset}"))
        assert bool(rows) == RANKERS[name].learns
        for row in rows:
            assert row["meaning"]
            assert row["type"]
            changed = {row["field"]: table_text_of(row["value"])}
            registry.spec(text, preset, **changed)
    told = in_json(capsys, "list", "recipe", text)["rows"]
    assert [row["field"] for row in told] == [row["field"] for row in rows]


def table_text_of(value):
    return (
        "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    )


@pytest.fixture
def narrow(monkeypatch):
    for module in (aligned_text, table_text):
        monkeypatch.setattr(module, "width", lambda: 80)


@pytest.mark.parametrize(
    "words",
    [
        *(("list", kind) for kind in ("rankers", "losses", "measures", "perturbations")),
        *(("list", "conventions"), ("list", "studies"), ("list", "recipe", "setrank-imsab@tuned")),
        ("library", "list"),
    ],
)
def test_lists_are_as_wide_as_the_terminal(words, narrow, capsys):
    assert main(list(words)) == 0
    lines = capsys.readouterr().out.splitlines()
    told = [line for line in lines if len(line) > 80 and not line.startswith(("tuned of", "- "))]
    assert not told
    plain = "".join(lines)
    for row in in_json(capsys, *words).get("rows", []):
        named = row.get("name", row.get("field", ""))
        assert (EVERY[named].command_words() if named in EVERY else named.split())[0] in plain


@pytest.mark.parametrize("kind", sorted(STUDIES))
def test_tables_of_studies_are_as_wide_as_the_terminal(kind, narrow):
    store = default_store()
    (artefact, *_) = (one for one in store.artefacts("study") if one.recipe["kind"] == kind)
    from shuffleproof.core.studies.result import StudyResult
    from shuffleproof.core.studies.sections import View, sections_of, tables_in

    sections = sections_of(STUDIES[kind].sections_module(), StudyResult.open(artefact.path), View())
    tables = list(tables_in(sections))
    assert tables
    for table in tables:
        text = (
            table_text.terminal(table).split("\n".join(table.notes))[0]
            if table.notes
            else table_text.terminal(table)
        )
        assert max(map(len, text.splitlines())) <= 80, table.title


def commands(parser, called=()):
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for name, one in action.choices.items():
                yield from commands(one, (*called, name))
            return
    yield " ".join(called), parser


def test_every_help_shows_lines_that_its_own_flags_take():
    whole = arguments.parser()
    known = dict(commands(whole))
    assert {name for name in flags.table() if not name.startswith("&")} <= set(known)
    for command, parser in known.items():
        lines = flags.examples_of(command)
        assert lines, command
        for line in lines:
            assert line.split()[: len(command.split())] == command.split()
            assert f"  shuffleproof {line}" in parser.format_help().splitlines()
        assert "option_strings" not in parser.format_help(), "a % of a help has to be %%"
    for line in (line for command in known for line in flags.examples_of(command)):
        chosen = whole.parse_args(shlex.split(line))
        for text in re.findall(r"--rankers (\S+)", line):
            assert FIGURE(rankers=tuple(text.split(","))).rankers
        assert chosen.answer

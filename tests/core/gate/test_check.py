"""The gate: what can be compared, exit statuses, JUnit and Markdown, and the documented lines."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import yaml
from pre_commit.clientlib import load_config

from shuffleproof.core.cli.arguments import main, parser
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ParameterError, UnknownNameError, UsageError
from shuffleproof.core.gate.check import check_card, gate, names_of, noise_floor
from shuffleproof.core.gate.comparison import Tier
from shuffleproof.core.gate.reports import (
    STATUS_FAILED,
    STATUS_INCONCLUSIVE,
    junit,
    markdown,
    status,
)
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.store.artefacts import Store
from tests.core.gate.test_card_file import QUERIES, VALUES, card

SAME = {"mine": "mine"}
WAVE = (0.1 * np.sin(np.arange(40))).astype(np.float32)
PAGE = Path(__file__).resolve().parents[3] / "docs/ci.md"


def noisy(found, **changes):
    rankers = {name: replace(one, **changes) for name, one in found.rankers.items()}
    return replace(found, rankers=rankers)


LOSS, LARGE = card(VALUES - 0.1 + 0.1 * WAVE), {"NDCG@10": 0.02}


@pytest.mark.parametrize(
    ("today", "tier", "ends", "said"),
    [
        (LOSS, "regression", 3, "−0.1"),
        (card(VALUES - 0.005 + 0.01 * WAVE), "soft", 0, "less than 0.01"),
        (card(VALUES + 0.1 + 0.1 * WAVE), "improvement", 0, "+0.1"),
        (card(VALUES), "tie", 0, "unchanged"),
        (noisy(LOSS, noise=LARGE), "unreliable baseline", 4, "rounding of its scores"),
        (noisy(LOSS, noise=LARGE, steady=False), "unreliable baseline", 4, "not deterministic"),
        (noisy(LOSS, noise={"NDCG@10": 0.009}), "regression", 3, "−0.1"),
        (replace(LOSS, conditions={}), "not comparable", 4, "no such condition"),
        (replace(LOSS, queries=QUERIES[::-1]), "not comparable", 4, "other queries"),
        (card(VALUES, initial=VALUES - 0.1), "not comparable", 4, "the initial ranking itself"),
        (None, "not comparable", 4, "other data"),
    ],
)  # fmt: skip
def test_two_cards_make_a_tier_and_a_status(today, tier, ends, said):
    unlike = ["other data"] if today is None else []
    found = gate(card(), today, SAME, unlike=unlike)
    assert [row.tier.value for row in found.rows] == [tier] * 2
    assert said in found.rows[0].comparison.because
    assert status(found) == ends
    assert status(found, "nothing") == 0
    assert status(found, "soft") == {"regression": 3, "soft": 3}.get(tier, ends)


def test_a_card_without_rankers_to_compare_is_not_green():
    assert status(gate(card(), card(), {})) == STATUS_INCONCLUSIVE


def mixed():
    """A gate with a row of every tier and names that neither XML nor a table takes as they are."""
    hostile = 'a|b<script>&"\x00\n`c`'
    last = ("initial ranking", "NDCG@10", "cut", 1.0)
    before = card(ranker=hostile)
    named = {hostile: hostile}
    conditions = dict(before.conditions) | {
        (hostile, "NDCG@10", "cut", level): VALUES for level in (1.0, 2.0)
    } | {last: VALUES}  # fmt: skip
    before = replace(before, conditions=conditions)
    after = dict(conditions)
    after[hostile, "NDCG@10", "transpositions", 0.0] = VALUES - 0.1 + 0.1 * WAVE
    after[hostile, "NDCG@10", "transpositions", 5.0] = VALUES - 0.005 + 0.01 * WAVE
    return gate(before, replace(before, conditions=after), named)


def test_junit_has_a_case_a_ranker_and_condition_with_the_numbers():
    found = mixed()
    for fail_on, failures in (("regression", 1), ("soft", 2), ("nothing", 0)):
        root = ET.fromstring(junit(found, fail_on))  # noqa: S314 (our own)
        cases = root.findall("./testsuite/testcase")
        assert len(cases) == len(found.rows) == 4
        assert len({(case.get("classname"), case.get("name")) for case in cases}) == 4
        assert len(root.findall(".//failure")) == failures == int(root.get("failures"))
        assert len(root.findall(".//error")) == 1 == int(root.get("errors"))
        assert root[0].get("tests") == "4"
    (failed,) = ET.fromstring(junit(found)).findall(".//failure")  # noqa: S314 (our own)
    row = found.rows[0].comparison
    assert failed.get("type") == "regression"
    for value in (abs(row.difference), abs(row.low)):
        assert f"{value:.6f}" in failed.text
    assert "n = 40" in failed.text
    assert "�" in failed.text


def test_the_summary_says_the_verdict_first_and_has_at_most_40_lines():
    lines = markdown(mixed()).splitlines()
    assert lines[0] == "### Shuffleproof: regression"
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 4
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {10}
    assert table[2].startswith("| regression | a\\|b\\<script\\>")
    conditions = {
        (name, "NDCG@10", "cut", float(level)): VALUES - (0.3 if level == 77 else 0) + WAVE
        for name in ("initial ranking", "mine") for level in range(100)
    }  # fmt: skip
    before = {place: VALUES + (WAVE if place[0] != "mine" else 0) for place in conditions}
    for place in conditions:
        if place[0] != "mine":
            conditions[place] = before[place]
    many = gate(replace(card(), conditions=before), replace(card(), conditions=conditions), SAME)
    many = replace(many, notes=("note",) * 50)
    lines = markdown(many).splitlines()
    assert len(lines) <= 40
    assert "cut 77" in next(line for line in lines if line.startswith("| regression"))
    assert "and 80 more" in "\n".join(lines)


def test_a_card_names_nothing_that_is_run_and_new_names_stand_for_old_ones():
    functions = card(ranker="os:system")
    with pytest.raises(UsageError, match=r"os:system, from outside.*--rankers os:system"):
        names_of(functions, None)
    assert names_of(functions, ["os:system"]) == {"os:system": "os:system"}
    assert names_of(card(), None) == SAME
    assert names_of(card(), ["scores:a=b.txt=mine"]) == {"scores:a=b.txt": "mine"}
    assert names_of(card(ranker="scores:a=b"), ["scores:a=b"]) == {"scores:a=b": "scores:a=b"}
    for wrong in ("other", "other=no", "initial ranking"):
        with pytest.raises(UnknownNameError, match="ranker of the card"):
            names_of(card(), [wrong])


def test_a_size_that_is_none_is_refused_before_anything_is_opened(tmp_path):
    for least in (0.0, -1.0, float("nan")):
        with pytest.raises(ParameterError, match="least loss"):
            next(check_card(card(), Store(tmp_path), "no data of this name", ["mine"], least))


class Shaky:
    """Scores of a feature, and as much chance as is asked for."""

    name, reads, rankings = "shaky", frozenset({"features"}), 0

    def __init__(self, spread, weight=1.0):
        self.chance, self.spread, self.weight = np.random.default_rng(0), spread, weight

    def save(self, directory):
        raise NotImplementedError

    def score(self, dataset, lists):
        own = self.weight * dataset.features[lists.rows, 0]
        return (own + self.chance.normal(0, self.spread, len(own))).astype(np.float32)


def test_noise_is_none_of_a_steady_ranker_even_with_ties_and_grows_with_chance(trained_sample):
    _, workbench = trained_sample
    base: JudgedLists = workbench.prepared.test
    measures = [Measure.parse("NDCG@10"), Measure.parse("NDCG(ties=row)@10")]
    floors = {}
    for spread in (0.0, 0.05, 5.0):
        steady, floors[spread] = noise_floor(Shaky(spread), base, measures)
        assert steady == (spread == 0)
    assert max(floors[0.0]) < 1e-4
    assert floors[0.0][0] < floors[0.05][0] < floors[5.0][0]
    assert 0.005 < floors[5.0][0] < 0.2
    assert noise_floor(Shaky(0.0, weight=0.0), base, measures) == (True, [0.0, 0.0])


def blocks(language):
    """The code blocks of the documentation's part about the gate."""
    part = PAGE.read_text(encoding="utf-8").partition("## Is it worse than before?")[2]
    return re.findall(rf"```{language}\n(.*?)```", part, re.DOTALL)


def five_lines():
    """What a user types once, and what the build does then."""
    (once,) = blocks("")[:1]
    workflow = yaml.safe_load(blocks("yaml")[0])
    steps = workflow["jobs"]["ranker"]["steps"]
    (run,) = [step["run"] for step in steps if "run" in step]
    return once.splitlines(), run.splitlines()


def words_of(line):
    words = shlex.split(line, comments=True)
    assert words[0] == "shuffleproof"
    return words[1:]


def test_the_documented_workflow_and_hook_are_yaml_of_commands_that_parse(tmp_path):
    once, build = five_lines()
    assert len(once) + len(build) == 5
    assert build[0].startswith("pip install ")
    for line in (*once, *build[1:]):
        parser().parse_args(words_of(line))
    config = tmp_path / ".pre-commit-config.yaml"
    config.write_text(blocks("yaml")[1])
    ((hook,),) = [repo["hooks"] for repo in load_config(config)["repos"]]
    parser().parse_args(words_of(hook["entry"]))
    assert re.match(hook["files"], "rankers.py")


GOOD = "def score(features):\n    return features[:, 2]\n"
PLANTED = "def score(features):\n    return -features[:, 2]\n"
FEW = 60
"""Test queries: enough for a test, and a process answers them in seconds."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where a user works: the first queries of the sample, a ranker, a home for what is made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(tmp_path / "home"))
    assert main(["export", "sample", "data/fold1"]) == 0
    test = tmp_path / "data" / "fold1" / "test.txt"
    lines = test.read_text().splitlines(keepends=True)
    queries = list(dict.fromkeys(line.split()[1] for line in lines))
    test.write_text("".join(line for line in lines if line.split()[1] in set(queries[:FEW])))
    (tmp_path / "rankers.py").write_text(GOOD)
    return tmp_path


def test_five_lines_make_a_build_that_is_red_where_the_ranker_got_worse(folder, monkeypatch, capfd):
    once, (_, ingest, check) = five_lines()
    build = [word.replace("$GITHUB_STEP_SUMMARY", "summary.md") for word in words_of(check)]
    for words in (*map(words_of, once), build):
        assert main(words) == 0, capfd.readouterr().err
    assert (folder / "summary.md").read_text().startswith("### Shuffleproof: tie")

    (folder / "rankers.py").write_text(PLANTED)
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(folder / "runner"))  # a build begins with nothing
    assert main(words_of(ingest)) == 0
    capfd.readouterr()
    assert main([*build, "--json"]) == STATUS_FAILED
    answer = json.loads(capfd.readouterr().out)
    assert answer["verdict"] == Tier.REGRESSION
    assert answer["tiers"] == {"regression": 8}
    assert all(row["p"] < 0.05 and row["difference"] < -0.05 for row in answer["comparisons"])
    root = ET.parse(folder / "gate.xml").getroot()  # noqa: S314 (our own)
    assert len(root.findall(".//failure")) == 8
    assert (folder / "summary.md").read_text().startswith("### Shuffleproof: regression")

    assert main([*build, "--fail-on", "nothing"]) == 0
    assert main(words_of("shuffleproof check --baseline card.json")) == 2
    assert "nothing that a file names is run" in capfd.readouterr().err
    document = json.loads((folder / "card.json").read_text())
    document["data"]["fingerprint"] = "0" * 64
    (folder / "card.json").write_text(json.dumps(document))
    assert main(build) == STATUS_INCONCLUSIVE
    assert "other data" in capfd.readouterr().out

"""Study of rerankers: planted effects, stored answers, recorded files, missing calls read back."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

import shuffleproof as sp
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import DataError, FixedScoresError, UsageError
from shuffleproof.core.rankers.outside.endpoint import BUDGET, CALLS
from shuffleproof.core.studies.kinds.invariance.certificate import EXIT_CODES
from tests.places import DATA
from tests.served import served

RECORDED = DATA / "recorded_rerankers"
QUERIES, DOCUMENTS = 10, 30


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with a data set of texts: the words of a query make a document relevant."""
    folder, draws = tmp_path_factory.mktemp("texts"), random.Random(3)
    words = [f"w{number}" for number in range(90)]
    rows, documents, queries = [], ["document,text"], ["qid,text"]
    for query in range(QUERIES * 5):
        own = draws.sample(words, 4)
        queries.append(f"{query},{' '.join(own)}")
        for document in range(DOCUMENTS):
            grade = draws.choice([0, 0, 0, 1, 2])
            text = draws.sample(words, 5) + own[: 2 * grade]
            draws.shuffle(text)
            rows.append(f"{grade} qid:{query} 1:{draws.random():.4f} # docid = {query}-{document}")
            documents.append(f"{query}-{document},{' '.join(text)}")
    for name, lines in (("t.txt", rows), ("docs.csv", documents), ("q.csv", queries)):
        (folder / name).write_text("\n".join(lines) + "\n")
    place = folder / "store"
    flags = ["--texts", str(folder / "docs.csv"), "--query-texts", str(folder / "q.csv")]
    ingested = ["ingest", str(folder / "t.txt"), "--name", "texts", *flags, "--store", str(place)]
    assert main(ingested) == 0
    return place


class Overlap:
    """A service that scores shared words, with a bonus by slot; it counts every request."""

    def __init__(self, bonus=0.0, delay=0.0):
        self.bonus, self.delay, self.requests = bonus, delay, Counter()
        self.lock = threading.Lock()

    def __call__(self, request):
        with self.lock:
            self.requests[json.dumps(request)] += 1
        time.sleep(self.delay)
        wanted = set(request["query"].split())
        scores = [
            len(wanted & set(text.split())) + self.bonus / (1 + at)
            for at, text in enumerate(request["documents"])
        ]
        results = [{"index": at, "relevance_score": score} for at, score in enumerate(scores)]
        return 200, {"results": sorted(results, key=lambda one: -one["relevance_score"])}


def opened(store):
    return sp.open("texts", initial="feature:1", store=store, progress=False)


@pytest.mark.parametrize(("bonus", "contrast"), [(0.3, 0.29), (0.0, 0.0)])
def test_the_bonus_of_a_slot_is_measured_and_a_fair_server_is_not_accused(bonus, contrast, store):
    service = Overlap(bonus)
    with served(service, f"/{bonus}/rerank") as address:
        name = sp.reranker(address)
        result = opened(store).rerankers(name, orders=3)
        made = service.requests.total()
        again = opened(store).rerankers(name, orders=4, sets=1)
    (effects,) = result.facts["effects"]
    assert effects["order"]["value"] == pytest.approx(contrast, abs=0.01)
    assert effects["company"]["value"] == pytest.approx(0, abs=1e-9)
    assert effects["noise"]["value"] == 0
    found = [effect for effect in ("order", "company") if effects[effect]["p"] < 0.05]
    assert found == ["order"] * bool(bonus)
    assert ("depends on order" in result.finding) == bool(bonus)
    # Two more questions share calls: only one more random order of each query is new
    assert service.requests.total() - made == again.facts["queries"]
    assert max(service.requests.values()) == 2, "the same input is asked twice, for the noise"


def test_functions_and_rankers_of_the_program_are_examined_too(store, tmp_path, monkeypatch):
    (tmp_path / "mine_words.py").write_text(
        "def score(query_text, texts):\n"
        "    wanted = set(query_text.split())\n"
        "    return [len(wanted & set(text.split())) for text in texts]\n"
    )
    monkeypatch.chdir(tmp_path)
    result = opened(store).rerankers("mine_words:score, feature:1", orders=2)
    rows = result.table("Quality")
    first = rows[rows["Input"] == "first stage"].set_index("Reranker")["Mean"]
    assert first["mine_words:score"].iloc[0] > first["feature:1"].iloc[0]
    for effects in result.facts["effects"]:
        assert effects["order"]["value"] == pytest.approx(0, abs=1e-6)


def test_calls_limit_the_queries(store, monkeypatch):
    service = Overlap()
    with served(service, "/few/rerank") as address:
        monkeypatch.setenv(CALLS, "70")
        BUDGET.made = 0
        result = opened(store).rerankers(sp.reranker(address), orders=2, sets=1)
        assert result.facts["queries"] == 70 // 11
        monkeypatch.setenv(CALLS, "20")
        with pytest.raises(DataError, match="20 calls are not enough: three queries take 33"):
            opened(store).rerankers(sp.reranker(address), orders=2, sets=1, seed=5)


def test_every_command_counts_its_own_calls(store, capsys):
    with served(Overlap(), "/each/rerank") as address:
        flags = ["--data", "texts", "--initial", "feature:1", "--store", str(store), "--json"]
        for seed in "01":
            study = ["study", "rerankers", "--rankers", address, "--calls", "70", "--orders", "2"]
            assert main([*study, "--sets", "1", "--seed", seed, *flags]) == 0
            assert json.loads(capsys.readouterr().out)["calls"] == 66


def test_a_certificate_without_enough_calls_makes_none(store, capsys):
    service = Overlap()
    with served(service, "/none/rerank") as address:
        flags = ["--data", "texts", "--initial", "feature:1", "--store", str(store)]
        few = ["certify", address, "--queries", "2", "--permutations", "2", *flags]
        assert main([*few, "--calls", "9"]) == 1
        assert "9 calls are not enough" in capsys.readouterr().err
        assert not service.requests
        assert main([*few, "--calls", "99"]) == EXIT_CODES["invariant"]
        assert 9 < service.requests.total() <= 99


def test_own_orders_show_the_effect_of_order_and_no_first_stage_is_made_up(store, tmp_path):
    """The bonus of 0.54 / (1 + slot) is 0.45 between the first and the last of 6 slots."""
    draws, names = random.Random(0), list("abcdef")
    lines = []
    for query in map(str, range(12)):
        for _ in range(6):
            shown = draws.sample(names, 6)
            scores = {name: names.index(name) + 0.54 / (1 + at) for at, name in enumerate(shown)}
            lines.append({"query": query, "shown": shown, "answered": scores})
    answers, run, qrels = (tmp_path / name for name in ("own.jsonl", "run.txt", "qrels"))
    answers.write_text("\n".join(map(json.dumps, lines)))
    run.write_text("".join(f"{query} Q0 a 1 9 x\n" for query in range(12)))
    qrels.write_text("".join(f"{query} 0 a 1\n" for query in range(12)))
    options = {"qrels": qrels, "store": store, "progress": False}
    row = sp.ingest_reranks(answers, "own", **options).rerankers().facts["effects"][0]
    assert row["order"]["value"] == pytest.approx(0.45, abs=1e-6)
    assert row["basis"] == "recorded orders of the same documents"
    alone = sp.ingest_reranks(run, "alone", **options).rerankers()
    assert alone.finding == "No answers tell order, company and noise apart."


def test_what_cannot_be_examined_is_refused(store, tmp_path):
    texts = opened(store)
    unreadable = served(lambda _: (200, b"<html>"), "/rerank")
    with unreadable as address, pytest.raises(DataError, match="none of the first 10 answers"):
        texts.rerankers(sp.reranker(address))
    with pytest.raises(UsageError, match="name at least one"):
        texts.rerankers()
    scores = tmp_path / "scores.txt"
    scores.write_text("1\n" * (QUERIES * DOCUMENTS))
    with pytest.raises(FixedScoresError):
        texts.rerankers(f"scores:{scores}")


def test_missing_calls_are_written_and_read_back(store, tmp_path):
    lines = [
        {"query": query, "shown": list("abcdef"), "answered": list("bacdef"), "reranker": "mine"}
        for query in "123"
    ]
    answers, qrels = tmp_path / "mine.jsonl", tmp_path / "qrels"
    answers.write_text("\n".join(map(json.dumps, lines)))
    qrels.write_text("".join(f"{query} 0 {name} 1\n" for query in "123" for name in "bc"))
    recorded = sp.ingest_reranks(answers, "mine", qrels=qrels, store=store, progress=False)
    first = recorded.rerankers()
    missing = first.facts["missing"]
    assert missing["calls"] == missing["wanted"] - 3
    assert first.facts["effects"][0]["order"]["value"] is None
    # Somebody else makes the calls: a reranker that returns what it was shown
    with (first.directory / "missing.jsonl").open() as wanted:
        made = [json.loads(line) for line in wanted]
    assert len(made) == missing["calls"]
    with answers.open("a") as file:
        for line in made:
            file.write("\n" + json.dumps({**line, "answered": line["shown"]}))
    whole = sp.ingest_reranks(answers, "mine", qrels=qrels, store=store, progress=False)
    second = whole.rerankers()
    assert second.facts["missing"]["share"] == 0
    order = second.facts["effects"][0]["order"]
    assert order["value"] == pytest.approx(1, abs=0.35), "the first slot is answered first"


@pytest.mark.skipif(not RECORDED.is_dir(), reason="no shared data")
def test_recorded_rerankers_have_their_published_values(tmp_path):
    paths = [RECORDED / name for name in ("first_stage", "reranked", "windows")]
    qrels = RECORDED / "qrels.dl19-passage.txt.gz"
    dl19 = sp.ingest_reranks(paths, "dl19", qrels=qrels, store=tmp_path, progress=False)
    result = dl19.rerankers()
    rows = result.table("Quality").set_index(["Reranker", "Input", "Depth", "Repeat"])["Mean"]
    for place, value in {
        ("initial ranking", "bm25", 100, 1): 0.5058,
        ("initial ranking", "splade", 100, 1): 0.7308,
        ("rank-vicuna", "bm25", 100, 1): 0.6682,
        ("rank-vicuna", "splade", 100, 1): 0.7459,
        ("gpt-3.5-turbo", "bm25", 100, 2): 0.6737,
        ("gpt-3.5-turbo", "bm25", 100, 4): 0.6938,
    }.items():
        assert rows[place] == pytest.approx(value, abs=5e-5), place
    assert len(rows.loc["rank-vicuna"]) == 10
    vicuna, gpt = result.facts["pairs"]
    # Both years together agree in .817 and .729; these are the 989 windows of DL 2019
    assert vicuna["same_order_agreement"] == pytest.approx(0.831, abs=5e-4)
    assert vicuna["opposite_order_agreement"] == pytest.approx(0.737, abs=5e-4)
    assert gpt["opposite_order_agreement"] is None
    assert [row["malformed"] for row in result.facts["faults"]] == [0, 0]


LIVE = """
import sys
import shuffleproof as sp
store, address = sys.argv[1:]
sp.open("texts", initial="feature:1", store=store, progress=False).rerankers(
    sp.reranker(address), orders=8, queries=8)
"""


@pytest.mark.slow
def test_killed_processes_pay_no_answered_call_twice(store):
    service, jobs, kills = Overlap(delay=0.02), 4, 2
    environment = {**os.environ, "SHUFFLEPROOF_FUNCTION_JOBS": str(jobs)}
    with served(service, "/killed/rerank") as address:
        command = [sys.executable, "-c", LIVE, str(store), address]
        for kill in range(1, kills + 1):
            process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
            while service.requests.total() < 30 * kill and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait()
            time.sleep(0.2)
        subprocess.run(command, env=environment, check=True)
        result = opened(store).rerankers(sp.reranker(address), orders=8, queries=8)
    wanted = result.facts["faults"][0]["calls"]
    repeated = service.requests.total() - wanted
    assert repeated <= (jobs + 1) * kills, "only calls under way, or an answer being written"

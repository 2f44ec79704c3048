"""Recorded rerankings: every format gives the calls that it holds, and wrong files say why."""

import json
from pathlib import Path

import pytest

from shuffleproof.core.errors import DataError, UnknownNameError
from shuffleproof.core.rerank import reading
from shuffleproof.core.rerank.groups import groups_of
from tests.places import DATA

RUN = "1 Q0 b 1 9 x\n1 Q0 a 2 8 x\n"
WINDOW = {
    "prompt": "Passages:\n\n[1] first text\n[2] second text\nSearch Query: who eats.\nRank them.",
    "response": "[2] > [1]",
}
RANKLLM = {
    "query": {"qid": 1, "text": "who eats"},
    "candidates": [
        {"docid": "b", "score": 2, "doc": {"contents": "second text"}},
        {"docid": "a", "score": 1, "doc": {"contents": "first text"}},
    ],
    "invocations_history": [WINDOW | {"input_token_count": 9, "output_token_count": 3}],
}
SERVICE = {
    "request": {"query": "1", "documents": [{"id": "a"}, {"id": "b"}]},
    "response": {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0,
                 "relevance_score": 0.1}], "usage": {"total_tokens": 12}},
}  # fmt: skip
SPAN = {
    "attributes": {
        "reranker.query": "1",
        "reranker.input_documents.0.document.id": "a",
        "reranker.input_documents.1.document.id": "b",
        "reranker.output_documents.0.document.id": "b",
        "reranker.output_documents.1.document.id": "a",
    }
}
LINE = {"query": "1", "shown": ["a", "b"], "answered": ["b", "a"], "reranker": "mine"}
FORMS = {
    "run": RUN,
    "mteb": json.dumps({"1": {"a": 8, "b": 9}}),
    "newer mteb": json.dumps(
        {
            "mteb_model_meta": {"model_name": "x"},
            "default": {"test": {"1": {"a": 8, "b": 9}}},
        }
    ),
    "rankllm": json.dumps([RANKLLM]),
    "service": json.dumps(SERVICE),
    "span": json.dumps(SPAN),
    "line": json.dumps(LINE),
    "scores by id": json.dumps({**LINE, "answered": {"a": 1, "b": 2}}),
}


def read(folder, **texts):
    files = []
    for name, text in texts.items():
        path = folder / name.replace("__", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        files.append(path)
    return made(files)


def made(files):
    return reading.read(groups_of(files))[0]


@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_its_answer(form, tmp_path):
    calls = read(tmp_path, mine__jsonl=FORMS[form]).calls
    whole = [call for call in calls if call.is_list]
    assert [(call.query, call.answered) for call in whole] == [("1", ("b", "a"))]
    assert not any(call.is_faulty for call in whole)


def test_windows_are_traced_to_the_documents_of_the_first_stage(tmp_path):
    (tmp_path / "first_stage").mkdir()
    stage = tmp_path / "first_stage" / "bm25.txt"
    stage.write_text("1 Q0 a 1 9 x\n1 Q0 b 2 8 x\n")
    windows = tmp_path / "bm25.gpt.depth2.json"
    windows.write_text(json.dumps([WINDOW]))
    recorded = made([stage, windows])
    (call,) = recorded.calls
    assert (call.query, call.shown, call.answered) == ("1", ("a", "b"), ("b", "a"))
    assert (call.reranker, call.first_stage, call.depth, call.window) == ("gpt", "bm25", 2, 0)
    assert recorded.notes == ("0 of 1 window malformed.",)
    assert recorded.texts == {"a": "first text", "b": "second text"}
    assert recorded.query_texts == {"1": "who eats"}
    # The same documents with other texts cannot be this first stage
    other = {**WINDOW, "prompt": WINDOW["prompt"].replace("first", "another")}
    windows.write_text(json.dumps([WINDOW, other]))
    with pytest.raises(DataError, match="Correct first_stage and depth"):
        made([stage, windows])


def test_an_invocation_history_names_its_queries_and_may_have_the_messages_of_a_chat(tmp_path):
    stage, history = tmp_path / "bm25.txt", tmp_path / "bm25.gpt.depth2.json"
    stage.write_text("7 Q0 x 1 9 x\n1 Q0 a 1 9 x\n1 Q0 b 2 8 x\n")
    messages = [{"role": "user", "content": line} for line in WINDOW["prompt"].split("\n\n")]
    calls = [WINDOW | {"prompt": prompt} for prompt in (WINDOW["prompt"], messages)]
    for call in calls:
        entry = {"query": RANKLLM["query"], "invocations_history": [call]}
        history.write_text(json.dumps([entry]))
        (found,) = made([stage, history]).calls
        assert (found.query, found.shown, found.answered) == ("1", ("a", "b"), ("b", "a"))


def test_orders_of_the_same_list_are_told_apart_and_repeats_are_numbered(tmp_path):
    orders = ["abc", "cba", "bca", "abc", "bca", "cab"]
    lines = [{"query": "1", "shown": list(order), "answered": ["a"]} for order in orders]
    found = read(tmp_path, mine__jsonl="\n".join(map(json.dumps, lines))).calls
    assert [(call.first_stage, call.repeat) for call in found] == [
        ("first stage", 1), ("reversed", 1), ("random 1", 1), ("first stage", 2),
        ("random 1", 2), ("random 2", 1),
    ]  # fmt: skip


def test_judgments_of_other_documents_are_refused(tmp_path):
    (tmp_path / "qrels").write_text("1 0 z 1\n")
    (tmp_path / "mine.jsonl").write_text(json.dumps(LINE))
    groups = groups_of([tmp_path / "mine.jsonl"])
    with pytest.raises(DataError, match=r"no document of the rerankings is judged \(.* is a\)"):
        reading.read(groups, tmp_path / "qrels")


@pytest.mark.parametrize(
    ("answered", "fault"),
    [
        (["b"], "dropped"),
        (["b", "a", "b"], "repeated"),
        (["b", "a", "z"], "unknown"),
        ([], "malformed"),
    ],
)
def test_faults_are_counted(answered, fault, tmp_path):
    (call,) = read(tmp_path, mine__jsonl=json.dumps({**LINE, "answered": answered})).calls
    assert getattr(call, fault)
    assert call.is_faulty


def test_groups_come_from_names_and_can_be_corrected(tmp_path):
    files = [tmp_path / name for name in ("bm25.gpt.depth20.repeat2.x.txt.gz", "bm25.gpt.x.txt")]
    first, second = groups_of(files)
    assert list(first.fields.values()) == ["bm25", "gpt", 20, 2]
    assert list(second.fields.values()) == ["bm25", "gpt", 0, 1]
    flat = [tmp_path / name for name in ("bm25.x.txt", "bm25.gpt.x.txt")]
    assert [one.reranker for one in groups_of(flat)] == ["", "gpt"]
    given = {"first_stage": "splade", files[1].name: {"reranker": "mine", "depth": 7}}
    first, second = groups_of(files, given)
    assert list(first.fields.values()) == ["splade", "gpt", 20, 2]
    assert list(second.fields.values()) == ["splade", "mine", 7, 1]
    with pytest.raises(UnknownNameError, match="did you mean reranker"):
        groups_of(files, {"rerankr": "x"})


@pytest.mark.parametrize(
    ("text", "finding"),
    [("{", "JSON that cannot be read"), ('{"query": 1, "answered": 3}', "no reranking"),
     ('{"a": 1}', "no reranking"), ("1 Q0 a\n", "columns")],
)  # fmt: skip
def test_what_is_no_reranking_is_refused(text, finding, tmp_path):
    with pytest.raises(DataError, match=finding):
        read(tmp_path, mine__txt=text)


def test_files_of_public_tools_are_read():
    cases = DATA / "cases" / "rerankers"
    if not cases.is_dir():
        pytest.skip("no shared data")
    for name in ("cohere.jsonl", "openinference.jsonl", "rankllm.jsonl", "mteb_predictions.json"):
        assert made([Path(cases / name)]).calls, name

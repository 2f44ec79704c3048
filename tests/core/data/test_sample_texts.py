"""The data set of texts that ships: reproduced by its seed, with grades by construction."""

import json
import re

import numpy as np

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data import catalogue, display_texts
from shuffleproof.core.data.layout import SAMPLE_TEXTS
from shuffleproof.core.store.artefacts import Store
from tests import sample_texts

FOLDER = catalogue.FOLDERS[SAMPLE_TEXTS]
OVERLAP = """import re

def overlap(query_text, texts):
    words = [set(re.findall("[a-z]+", text.lower())) for text in (query_text, *texts)]
    return [len(words[0] & of_text) for of_text in words[1:]]
"""


def test_the_shipped_files_are_what_the_seed_makes(tmp_path):
    sample_texts.write(tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_bytes() for path in FOLDER.iterdir()}
    assert sum(map(len, made.values())) <= 2**20


def test_it_opens_by_name_with_texts_titles_and_grades_by_construction(tmp_path):
    store = Store(tmp_path)
    fold = catalogue.resolve(SAMPLE_TEXTS, store)
    passages, aspects = sample_texts.content()
    of_text = {one.text: one for one in passages}
    topics = {question: (at, topic) for at, (topic, _, question) in enumerate(aspects)}
    shown = display_texts.find(fold.fingerprint, store)
    seen = set()
    for part in (fold.train, fold.valid, fold.test):
        assert set(np.diff(part.offsets)) == {20}
        for query, text in enumerate(part.query_texts):
            rows = range(part.offsets[query], part.offsets[query + 1])
            chosen = [of_text[part.texts[row]] for row in rows]
            assert len(set(chosen)) == 20
            assert part.labels[rows].tolist() == [
                sample_texts.grade(one, *topics[text]) for one in chosen
            ]
            titles = shown.documents["title"].loc[[part.doc_ids[row] for row in rows]]
            assert titles.tolist() == [one.title for one in chosen]
            seen |= {(topics[text][1], part is fold.test)}
    assert fold.train.queries + fold.valid.queries + fold.test.queries == len(aspects) == 60
    assert fold.test.queries == 24
    assert len(seen) == len({topic for topic, _ in seen}), "queries of a topic share a part"
    key = catalogue.find(SAMPLE_TEXTS, store).key
    assert key == catalogue.find(SAMPLE_TEXTS, store).key
    assert len(list(store.artefacts(display_texts.KIND))) == 1


def test_word_overlap_ranks_it_better_than_chance_and_is_fooled(tmp_path, monkeypatch, capsys):
    (tmp_path / "words.py").write_text(OVERLAP)
    monkeypatch.chdir(tmp_path)
    words = "study rerankers --rankers words:overlap --orders 2 --sets 1 --queries 6 --json"
    lists = f"--data {SAMPLE_TEXTS} --initial random --depth 20"
    assert main([*words.split(), *lists.split(), "--store", str(tmp_path / "store")]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    means = {
        row["first_stage"]: row["mean"]
        for row in rows
        if not re.match("top|ini", row["first_stage"])
    }
    start = next(row["mean"] for row in rows if row["first_stage"] == "initial ranking")
    assert start < min(means.values()) < 0.9

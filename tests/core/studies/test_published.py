"""Published numbers and the conventions that reproduce them."""

import itertools
import json
import math

import numpy as np
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data import trec
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.metrics.bundles import BUNDLES
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import mean_of
from shuffleproof.core.parameters import parameters
from shuffleproof.core.studies.kinds.benchmark.outside_runs import evaluate_run, judge_runs
from shuffleproof.core.studies.published import (
    HABITS,
    Around,
    JudgedRun,
    PublishedCell,
    _choices,
    answer_of,
    cells_of,
    folds_of,
    search,
)
from tests import loading, places

DL19 = places.DATA / "recorded_rerankers"
ROBUST, MQ2008 = places.DATA / "trec_robust03", places.DATA / "mq2008"
needs_data = pytest.mark.skipif(not places.DATA.is_dir(), reason="no shared data")


def random_run(seed, levels=10**6, queries=60):
    draws = np.random.default_rng(seed)
    lengths = draws.integers(3, 40, queries)
    labels = draws.choice([0, 1, 2], lengths.sum(), p=[0.7, 0.2, 0.1]).astype(np.float32)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    labels[offsets[0] : offsets[1]] = 0  # a query without relevant documents
    ids = tuple(map(str, range(queries)))
    dataset = RankingDataset(np.zeros((len(labels), 0), np.float32), labels, offsets, ids, ())
    scores = draws.integers(0, levels, len(labels)).astype(float)
    return JudgedRun(dataset, CandidateLists.all_documents(dataset), scores)


def letors_ndcg(labels, scores, cutoff):
    """NDCG@k of LETOR's scripts, written down for one query."""
    ranked = np.array(labels)[np.argsort(-np.array(scores), kind="stable")]

    def gained(grades):
        discounts = [1 if place < 2 else math.log(2) / math.log(place + 1)
                     for place in range(cutoff)]  # fmt: skip
        return sum((2**grade - 1) * by for grade, by in zip(grades, discounts, strict=False))

    best = gained(sorted(labels, reverse=True))
    return gained(ranked) / best if best and len(labels) >= cutoff else 0.0


def letors_mean(run, cutoff):
    lists = itertools.pairwise(run.dataset.offsets)
    return np.mean([letors_ndcg(run.dataset.labels[a:b], run.scores[a:b], cutoff)
                    for a, b in lists])  # fmt: skip


def printed(mean, digits=4, step=0):
    return f"{round(mean, digits) + step * 10.0**-digits:.{digits}f}"


@pytest.mark.parametrize("levels", [10**6, 5])
def test_letors_numbers_are_named(levels):
    folds = [random_run(seed, levels, 40 + seed) for seed in range(3)]
    row = {f"NDCG@{k}": np.mean([letors_mean(run, k) for run in folds]) for k in (1, 3, 5, 10)}
    texts = {name: printed(mean) for name, mean in row.items()}
    cells = [PublishedCell.of(text, name) for name, text in texts.items()]
    assert answer_of(cells, folds, of_letor=True)["matches"]
    (first, *_), _ = search(cells, folds, of_letor=True)
    assert first.tool == "letor4"
    assert "letor3" in first.same
    changed = [*cells[:3], PublishedCell.of(printed(row["NDCG@10"], step=1), "NDCG@10")]
    assert not answer_of(changed, folds, of_letor=True)["matches"]


def test_scikit_learns_number_is_named():
    from sklearn.metrics import ndcg_score

    run = random_run(7, 5)
    pairs = [
        (run.dataset.labels[a:b], run.scores[a:b])
        for a, b in itertools.pairwise(run.dataset.offsets)
    ]
    mean = np.mean([ndcg_score([labels], [scores], k=5) for labels, scores in pairs])
    for of_letor in (True, False):
        cell = PublishedCell.of(printed(mean, 5), "ndcg@5")
        assert answer_of([cell], [run], of_letor=of_letor)["matches"]
        (best, *_), _ = search([cell], [run], of_letor=of_letor)
        assert "sklearn" in (best.name, *best.same)
        assert best.means[0] == pytest.approx(mean, abs=1e-6)


def test_rows_are_the_means_of_their_conventions():
    run = random_run(3, 5)
    rows, _ = search([PublishedCell.of(".5000", "ndcg@5")], [run], of_letor=False)
    plain = [row for row in rows if row.around.kept == "all"
             and row.around.grades == "as judged"]  # fmt: skip
    assert len(plain) > 20
    for row in plain:
        measure = row.measures[0]
        (values,) = evaluate_run([measure], run.dataset, run.lists, run.scores)
        assert row.means[0] == pytest.approx(mean_of(measure, values), abs=1e-6), measure


def test_cut_lists_mapped_grades_and_missing_topics_are_tried():
    run = random_run(5)
    labels = run.dataset.labels
    order = np.concatenate([a + np.argsort(-run.scores[a:b])[:10]
                            for a, b in itertools.pairwise(run.dataset.offsets)])  # fmt: skip
    rows = np.sort(order)
    lengths = np.minimum(np.diff(run.dataset.offsets), 10)
    cut = CandidateLists.unranked(np.concatenate([[0], np.cumsum(lengths)]), rows)
    binary = RankingDataset(
        np.zeros((len(labels), 0), np.float32), (labels >= 2).astype(np.float32),
        run.dataset.offsets, run.dataset.query_ids, (),
    )  # fmt: skip
    measure = Measure("NDCG", 10, ideal="shown", empty="skip")
    (values,) = evaluate_run([measure], run.dataset, cut, run.scores[rows])
    (of_binary,) = evaluate_run([Measure("NDCG", 10)], binary, run.lists, run.scores)
    shorter = CandidateLists.unranked(np.concatenate([[0, 0], cut.offsets[2:] - lengths[0]]),
                                      rows[lengths[0] :])  # fmt: skip
    part = JudgedRun(run.dataset, shorter, run.scores[rows][lengths[0] :])
    (of_part,) = evaluate_run([Measure("AP")], run.dataset, shorter, part.scores)
    for mean, one, text, around in (
        (mean_of(measure, values), run, "NDCG(ideal=shown,empty=skip)@10", "first 10 documents"),
        (of_binary.mean(), run, "NDCG(gain=exp2)@10", "grades from 2 on are 1"),
        (of_part[1:].mean(), part, "AP", ""),
    ):
        cells = [PublishedCell.of(f"{mean:.6f}", text)]
        assert answer_of(cells, [one])["matches"], text
        (best, *_), _ = search(cells, [one], of_letor=False)
        assert around in ", ".join(best.changes)
    assert (best.tool, best.cost) == ("trec_eval", 0)
    assert best.around.topics == "answered"


def test_a_cut_by_line_comes_before_ties():
    scores = {f"d{place:02}": 1.0 for place in range(12)}
    whole = judge_runs({"1": {"d00": 1}}, {"run": trec.Run("run", {"1": scores})})
    run = JudgedRun(whole.dataset, whole.lists["run"], whole.scores["run"])
    # trec_eval ranks the last id first: d00 is the last of the ten lines
    (best, *_), _ = search([PublishedCell.of(".1000", "map")], [run], of_letor=False)
    assert best.matches
    assert (best.tool, best.changes) == ("trec_eval", ("first 10 lines",))


def test_every_declared_convention_is_varied():
    fields = {field.name for field in parameters(Measure)} - {"cutoff"}
    # numbers that are part of a measure's name
    varied = {*_choices([random_run(1), random_run(2)])}
    assert fields - {"multiple", "recall"} <= varied
    assert {*Around._fields} - varied == {"topics"}
    assert set(HABITS) <= set(BUNDLES)


def test_stated_conventions_stay():
    cells = cells_of(values="NDCG(gain=linear)@5=.5,NDCG@10=.6")
    for row in search(cells, [random_run(4)], of_letor=False)[0]:
        assert row.measures[0].gain == "linear"


def test_truncated_and_percent_numbers_match():
    cell = PublishedCell.of(".4519", "ndcg@10")
    assert [cell.matches(one) for one in (0.45186, 0.45199, 0.4520)] == ["rounded", "truncated", ""]
    run = random_run(6)
    (values,) = evaluate_run([Measure("RR")], run.dataset, run.lists, run.scores)
    cell = PublishedCell.of(f"{100 * values.mean():.2f}", "mrr")
    assert search([cell], [run], of_letor=False)[0][0].matches


@needs_data
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("first_stage/bm25", ".5058"), ("first_stage/bm25-rm3", ".5216"),
        ("first_stage/tas-b", ".7210"), ("first_stage/ada2", ".7035"),
        ("first_stage/splade", ".7308"), ("reranked/bm25.rank-vicuna.depth100", ".6682"),
        ("reranked/splade.rank-vicuna.depth100", ".7459"),
        ("reranked/bm25.gpt-3.5-turbo.depth100.repeat2", ".6737"),
        ("reranked/bm25.gpt-3.5-turbo.depth100.repeat4", ".6938"),
    ],
)  # fmt: skip
def test_published_rerankers_are_trec_eval(path, value):
    folds, of_letor = folds_of([DL19 / f"{path}.dl19.txt.gz"], [DL19 / "qrels.dl19-passage.txt.gz"])
    answer = answer_of([PublishedCell.of(value, "nDCG@10")], folds, of_letor=of_letor)
    assert answer["finding"] == f"{value} is NDCG@10 by trec_eval."
    changed = f"{float(value) + 1e-4:.4f}"
    answer = answer_of([PublishedCell.of(changed, "nDCG@10")], folds, of_letor=of_letor)
    assert not answer["matches"]


@needs_data
def test_another_cut_off_is_found(capsys):
    grades, run = ROBUST / "robust03_qrels.txt.gz", ROBUST / "input.uwmtCR0.gz"
    judged, scores = trec.read_qrels(grades), trec.read_run(run).scores
    hits = [
        sum(judged[topic].get(name, 0) > 0 for name in sorted(own, key=own.get)[-15:]) / 15
        for topic, own in scores.items()
    ]
    value = printed(np.mean(hits))
    words = ["--runs", str(run), "--qrels", str(grades), "--value", value, "--measure", "P_10"]
    assert main(["which", *words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "shuffleproof which"
    assert answer["rows"][0]["convention"] == "P(ties=trec)@15"
    assert answer["finding"] == f"{value} is P@15 (not P@10) by trec_eval."
    words[5] = printed(np.mean(hits), step=1)
    assert main(["which", *words]) == 3
    assert "None of" in capsys.readouterr().out


@needs_data
def test_letor_files_are_read(tmp_path, capsys):
    files = [MQ2008 / f"S{part}.txt.gz" for part in (1, 2)]
    means = []
    for place, file in enumerate(files):
        dataset = loading.read(file).dataset
        run = JudgedRun(dataset, CandidateLists.all_documents(dataset), dataset.features[:, 38])
        (tmp_path / f"{place}.txt").write_text("\n".join(map(str, run.scores.tolist())))
        means.append(letors_mean(run, 10))
    runs = [str(tmp_path / f"{place}.txt") for place in range(2)]
    words = ["--value", printed(np.mean(means)), "--measure", "ndcg@10"]
    assert main(["which", "--runs", *runs, "--qrels", *map(str, files), *words]) == 0
    assert "NDCG@10 by letor4." in capsys.readouterr().out

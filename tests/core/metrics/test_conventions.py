"""Every bundle of conventions against the tool whose name it has, on real runs and with ties."""

import itertools
import math

import numpy as np
import pytest

from shuffleproof.core.data import trec
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import ParameterError, UnknownNameError
from shuffleproof.core.metrics.bundles import BUNDLES, under
from shuffleproof.core.metrics.measure import MEASURES, Measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.linear.fit import RankSVMSpec
from shuffleproof.core.studies.kinds.benchmark import outside_runs
from tests import loading, places

DATA = places.DATA
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"real data absent: {DATA}")
CUTOFFS = (1, 3, 5, 10, 20)


def random_case(seed, levels, lists=80, longest=25):
    random = np.random.default_rng(seed)
    lengths = random.integers(2, longest, size=lists)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    labels = random.choice([0, 0, 0, 0, 1, 2, 4], size=offsets[-1]).astype(np.float32)
    names = TextColumn.of(f"d{name}" for name in random.permutation(offsets[-1]))
    dataset = RankingDataset(
        np.zeros((offsets[-1], 0), np.float32), labels, offsets,
        tuple(f"q{i}" for i in range(lists)), (), names,
    )  # fmt: skip
    scores = random.permutation(np.arange(offsets[-1]) % levels).astype(np.float32)
    return dataset, CandidateLists.all_documents(dataset), scores


def values(bundle, texts, dataset, lists, scores):
    measures = [Measure.parse(under(text, bundle)) for text in texts]
    return measures, evaluate(measures, dataset, lists, scores)


def test_every_bundle_says_what_each_measure_can_be_told():
    for name, bundle in BUNDLES.items():
        assert name == bundle.name
        assert bundle.summary
        assert bundle.source
        for measure in MEASURES:
            changed = Measure.parse(
                under(f"{measure}@5" if MEASURES[measure].cut else measure, name)
            )
            for field, value in bundle.conventions.items():
                assert getattr(changed, field) == value or field not in changed.entry.conventions


def test_what_a_text_says_itself_stays_under_a_bundle():
    assert under("NDCG(ties=averaged, empty=zero)@5", "lightgbm") == "NDCG(ideal=shown)@5"
    assert under("ndcg@5", None) == "NDCG@5"
    with pytest.raises(UnknownNameError, match="trec_eval"):
        under("NDCG", "treceval")
    with pytest.raises(ParameterError):
        under("NDCG@none@5", "letor4")


TREC = {"ndcg": "NDCG", "map": "AP", "recip_rank": "RR", "bpref": "Bpref"} | {
    f"{theirs}_{k}": f"{ours}@{k}"
    for theirs, ours in (("ndcg_cut", "NDCG"), ("P", "P"), ("recall", "R"), ("map_cut", "AP"))
    for k in (5, 10, 30, 100)
}
RUNS = (
    ("trec_eval_testdata", "qrels.test.gz", "results.test.gz"),
    *(
        ("trec_robust03", "robust03_qrels.txt.gz", f"input.{run}.gz")
        for run in ("NLPR03vb10", "SABIR03BASE", "UIUC03Rd1", "VTcdhgp1", "humR03dc", "uwmtCR0")
    ),
)


def ranked(whole):
    lists = whole.lists["run"]
    return lists, outside_runs.as_ranked(lists, whole.scores["run"])


def judged(folder, qrels, run):
    grades = trec.read_qrels(DATA / folder / qrels)
    return grades, trec.read_run(DATA / folder / run)


@needs_data
@pytest.mark.parametrize(("folder", "qrels", "run"), RUNS)
def test_trec_eval_agrees_topic_by_topic_on_real_runs(folder, qrels, run):
    import pytrec_eval

    grades, read = judged(folder, qrels, run)
    whole = outside_runs.judge_runs(grades, {"run": read})
    _, found = values("trec_eval", TREC.values(), whole.dataset, *ranked(whole))
    names = {name.rpartition("_")[0] if name[-1].isdigit() else name for name in TREC}
    asked = {f"{n}.5,10,30,100" if n in {"ndcg_cut", "P", "recall", "map_cut"} else n
             for n in names}  # fmt: skip
    scores = {topic: dict(own) for topic, own in read.scores.items()}
    theirs = pytrec_eval.RelevanceEvaluator(grades, asked).evaluate(scores)
    for at, topic in enumerate(whole.dataset.query_ids):
        wanted = [theirs.get(topic, {}).get(name, 0.0) for name in TREC]
        np.testing.assert_allclose(found[:, at], wanted, rtol=1e-5, atol=1e-6, err_msg=topic)


@pytest.mark.parametrize("levels", [10**6, 5])
def test_scikit_learn_agrees(levels):
    from sklearn.metrics import ndcg_score

    dataset, lists, scores = random_case(1, levels)
    _, found = values("sklearn", [f"NDCG@{k}" for k in CUTOFFS], dataset, lists, scores)
    for query, (start, stop) in enumerate(itertools.pairwise(dataset.offsets)):
        pair = [dataset.labels[start:stop]], [scores[start:stop]]
        wanted = [ndcg_score(*pair, k=k) for k in CUTOFFS]
        np.testing.assert_allclose(found[:, query], wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("levels", [10**6, 5])
def test_lightgbms_own_ndcg_agrees(levels):
    import lightgbm

    dataset, lists, scores = random_case(2, levels)
    assert any(not own.any() for own in np.split(dataset.labels, dataset.offsets[1:-1]))
    measures, found = values("lightgbm", [f"NDCG@{k}" for k in CUTOFFS], dataset, lists, scores)
    data = lightgbm.Dataset(
        np.zeros((dataset.documents, 1)), dataset.labels, group=np.diff(dataset.offsets),
        init_score=scores.astype(np.float64), params={"verbose": -1},
        free_raw_data=False,
    )  # fmt: skip
    params = {"objective": "lambdarank", "metric": "ndcg", "eval_at": CUTOFFS, "verbose": -1,
              "num_threads": 1}  # fmt: skip
    booster = lightgbm.Booster(params, data)
    theirs = {name: value for _, name, value, _ in booster.eval_train()}
    for cutoff, measure, own in zip(CUTOFFS, measures, found, strict=True):
        assert mean_of(measure, own) == pytest.approx(theirs[f"ndcg@{cutoff}"], abs=1e-6)


def letors_tool(labels, scores, cutoffs):
    """NDCG@k, then MeanNDCG and AP, by the rules of LETOR's scripts, written down for a query."""
    order = sorted(range(len(labels)), key=lambda at: -scores[at])
    ranked = [labels[at] for at in order]

    def gains(rates):
        total, sums = 0.0, []
        for place, grade in enumerate(rates):
            total += (2**grade - 1) * (1 if place < 2 else math.log(2) / math.log(place + 1))
            sums.append(total)
        return sums

    best = gains(sorted(labels, reverse=True))
    ndcg = [own / most if most else 0.0 for own, most in zip(gains(ranked), best, strict=True)]
    hits = [place for place, grade in enumerate(ranked, start=1) if grade > 0]
    precision = sum(count / place for count, place in enumerate(hits, start=1))
    at = [ndcg[cutoff - 1] if cutoff <= len(ndcg) else 0.0 for cutoff in cutoffs]
    return [*at, sum(ndcg) / len(ndcg), precision / max(len(hits), 1)]


LETOR = [*(f"NDCG@{k}" for k in CUTOFFS), "MeanNDCG", "AP"]


@pytest.mark.parametrize("bundle", ["letor3", "letor4"])
@pytest.mark.parametrize("levels", [10**6, 5])
def test_the_rules_of_letors_tools_agree(bundle, levels):
    dataset, lists, scores = random_case(3, levels)
    _, found = values(bundle, LETOR, dataset, lists, scores)
    for query, (start, stop) in enumerate(itertools.pairwise(dataset.offsets)):
        own = dataset.labels[start:stop].tolist(), scores[start:stop].tolist()
        np.testing.assert_allclose(
            found[:, query], letors_tool(*own, CUTOFFS), rtol=1e-6, atol=1e-7
        )


@needs_data
def test_ranksvm_on_mq2008_comes_near_what_letor_published(tmp_path):
    """Published: NDCG@10 .2279, MeanNDCG .4832 over five folds; here the four parts at hand."""
    texts = [(DATA / "mq2008" / f"S{part}.txt.gz").read_bytes() for part in (1, 2, 3, 4)]
    (tmp_path / "all.txt.gz").write_bytes(b"".join(texts))
    whole = loading.read(tmp_path / "all.txt.gz").dataset
    parts = np.split(np.arange(whole.queries), 4)
    of_folds = {None: [], "letor4": []}
    for first in range(4):
        train, valid, test = (
            JudgedLists(chosen, CandidateLists.all_documents(chosen))
            for chosen in (
                whole.select(np.concatenate([parts[(first + step) % 4] for step in steps]))
                for steps in ((0, 1), (2,), (3,))
            )
        )
        ranker = run_to_end(RankSVMSpec().fit(train, valid))
        scores = ranker.score(test.dataset, test.lists)
        for bundle, means in of_folds.items():
            pair = values(bundle, ["NDCG@10", "MeanNDCG"], test.dataset, test.lists, scores)
            means.append([mean_of(measure, own) for measure, own in zip(*pair, strict=True)])
    letor4, usual = (np.mean(of_folds[bundle], axis=0) for bundle in ("letor4", None))
    assert letor4 == pytest.approx([0.2279, 0.4832], abs=0.006)
    assert usual[0] > 0.5

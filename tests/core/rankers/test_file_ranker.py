"""Rankers from outside: files of scores, foreign models in disposable processes, TREC runs."""

import gzip
import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

from shuffleproof.core.answers.trained_rankers import trained_on
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.trec import Run
from shuffleproof.core.errors import ArtefactError, DataError, UnknownNameError, UsageError
from shuffleproof.core.library.import_ranker import bring
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.outside import file_ranker
from shuffleproof.core.rankers.outside.columns import ModelColumns, ModelError, match_columns
from shuffleproof.core.rankers.outside.model_files import model_scores
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.benchmark import outside_runs
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.kinds.initial_ranking.question import InitialRanking
from shuffleproof.core.studies.kinds.invariance.study import certify
from shuffleproof.core.studies.kinds.perturbations import sections
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.workbench import Workbench, run_to_end
from tests import places

SEEDS = [("train-seed", 1.0)]
CRASHED = r"(it crashed the library that reads it \(SIG|it is no model of Li)"  # as threads run
DATA = places.DATA / "trec_robust03"


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("outside"))
    return run_to_end(Workbench.open("sample", ListRecipe(("feature:3",), 10), store, "small"))


@pytest.fixture(scope="module")
def files(workbench, tmp_path_factory):
    """A file of scores, a LightGBM text model and what each should score."""
    import lightgbm

    folder = tmp_path_factory.mktemp("files")
    test = workbench.fold.test
    scores = test.feature(2) * 2 + 1
    (folder / "scores.txt").write_text("\n".join(map(repr, scores.tolist())))
    train = workbench.fold.train
    made = lightgbm.train(
        {"verbosity": -1, "num_threads": 1, "num_leaves": 7},
        lightgbm.Dataset(np.array(train.features), np.array(train.labels)),
        5,
    )
    made.save_model(folder / "model.txt")
    return folder, {"scores": scores, "lightgbm": made.predict(np.array(test.features))}


@pytest.mark.parametrize(("kind", "file"), [("scores", "scores.txt"), ("lightgbm", "model.txt")])
def test_a_file_is_a_ranker_of_a_study(workbench, files, kind, file):
    folder, expected = files
    test = workbench.prepared.test
    name = f"{kind}:{folder / file}"
    found = file_ranker.file_ranker(kind, str(folder / file), test.dataset).score(
        test.dataset, test.lists
    )
    np.testing.assert_allclose(found, expected[kind][test.lists.rows], rtol=1e-6)
    study = run_to_end(InitialRanking((name,), (("transpositions", 0.0),), draws=1).run(workbench))
    result = StudyResult.open(study.path)
    values = evaluate([Measure.parse("NDCG@10")], test.dataset, test.lists, found)[0]
    np.testing.assert_array_equal(result.per_query(name, "transpositions", 0.0, "NDCG@10"), values)


@pytest.mark.parametrize(("kind", "file"), [("scores", "scores.txt"), ("lightgbm", "model.txt")])
def test_a_file_is_kept_like_a_trained_ranker(workbench, files, kind, file):
    folder, expected = files
    artefact = run_to_end(bring(kind, folder / file, workbench.fold, workbench.store))
    ranker = registry.load(artefact.path)
    test = workbench.prepared.test
    found = ranker.score(test.dataset, test.lists)
    np.testing.assert_allclose(found, expected[kind][test.lists.rows], rtol=1e-6)
    fold = workbench.fold
    listed = trained_on(workbench.store, fold.train.fingerprint, fold.valid.fingerprint)
    assert kind in {one.name for one in listed}
    assert bool(artefact.facts["valid"]) == (kind == "lightgbm")
    again = run_to_end(workbench.train(RankerName.parse(f"{kind}#{artefact.key.digest[:12]}")))
    assert again.artefact.key == artefact.key


def test_scores_of_a_file_are_not_asked_again_for_changed_features(workbench, files):
    from shuffleproof.core.perturb.base import perturb
    from shuffleproof.core.perturb.registry import perturbation
    from shuffleproof.core.seeds import generator

    folder, _ = files
    test = workbench.prepared.test
    ranker = file_ranker.file_ranker("scores", str(folder / "scores.txt"), test.dataset)
    changed = perturb(perturbation("feature-noise", 0.5), test, generator(0, "noise"))
    with pytest.raises(DataError, match="no scores for changed lists"):
        ranker.score(changed.dataset, changed.lists)
    valid = workbench.fold.valid
    with pytest.raises(DataError, match="no scores for changed lists"):
        ranker.score(valid, CandidateLists.all_documents(valid))


def test_a_study_leaves_out_what_scores_of_a_file_cannot_be_asked_and_says_so(workbench, files):
    folder, _ = files
    artefact = run_to_end(bring("scores", folder / "scores.txt", workbench.fold, workbench.store))
    label = f"scores#{artefact.key.digest[:8]}"
    families = ["cut", "feature-noise", "duplicates", "cut:0.5+feature-noise", "shuffle-shown"]
    families += ["label-noise"]
    levels = {"duplicates": 2.0, families[3]: 1.0}
    pairs = tuple((name, levels.get(name, 0.5)) for name in families)
    study = run_to_end(Perturbations((label, "feature:1"), pairs, draws=1).run(workbench))
    trials = StudyResult.open(study.path).trials
    asked = {name: set(own["family"]) for name, own in trials.groupby("ranker")}
    assert asked[label] == {"cut"}, "its quality as it is"
    assert set(trials[trials["ranker"] == label]["level"]) == {0.0}
    assert asked["feature:1"] == set(families) - {"label-noise"}, "it learns from no label"
    assert set(study.facts["left_out"]) == set(families)
    told = sections.omission_text(study.facts, families)
    assert told.count(label) == len(families)
    seeds = run_to_end(Perturbations((label, "random"), tuple(SEEDS), draws=1).run(workbench))
    assert seeds.facts["left_out"] == {
        "train-seed": {
            label: "cannot be trained again, imported",
            "initial ranking": "it is not computed",
        }
    }
    with pytest.raises(UsageError, match=rf"{label} \(cannot be trained again, imported\)"):
        run_to_end(Perturbations((label,), tuple(SEEDS)).run(workbench))


def test_a_benchmark_compares_rankers_from_outside_by_their_content(workbench, files, monkeypatch):
    folder, expected = files
    monkeypatch.chdir(folder)
    (folder / "own.py").write_text("def score(features, ranks):\n    return features[:, 2]\n")
    artefact = run_to_end(bring("scores", folder / "scores.txt", workbench.fold, workbench.store))
    names = [f"scores#{artefact.key.digest[:8]}", "scores:scores.txt", "own:score", "feature:3"]
    monkeypatch.setattr("shuffleproof.core.rankers.name._FILE_NAMES", {})
    asked = Benchmark(tuple(names), 3, ("NDCG@10",))
    plan = benchmark.plan_benchmark([workbench], asked)
    assert [row.label for row in plan.rows[3:6]] == names[:3]
    assert {(row.group, row.seeds) for row in plan.rows[3:6]} == {("from outside", 1)}
    result = StudyResult.open(run_to_end(benchmark.run([workbench], asked, "sample")).path)
    assert RankerName.of(names[0]).display == "scores.txt", "opened, it is called by its file"
    own = {name: result.per_query(name, "benchmark", 0.0, "NDCG@10") for name in names}
    test = workbench.prepared.test
    scores = expected["scores"][test.lists.rows]
    values = evaluate([Measure.parse("NDCG@10")], test.dataset, test.lists, scores)[0]
    for name in names[:2]:
        np.testing.assert_array_equal(own[name], values)
    np.testing.assert_array_equal(own["own:score"], own["feature:3"])
    assert str(artefact.key) in set(result.trials["artefacts"])
    with pytest.raises(UsageError, match="belong to one fold"):
        benchmark.plan_benchmark([workbench, workbench], asked)
    (folder / "own.py").write_text("def score(features, ranks):\n    return -features[:, 2]\n")
    assert benchmark.plan_benchmark([workbench], asked) != plan


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\n2\n", "2 scores where the part has"),
        (None, "scores.txt:1: no score in 'nan'"),
        ("1\n\n1e39\n", "scores.txt:3: a score beyond single precision in '1e39'"),
        ("", "0 scores"),
    ],
)
def test_files_of_scores_that_do_not_fit_are_told_by_line(workbench, tmp_path, text, words):
    count = workbench.fold.test.documents
    content = "\n".join(["nan", *["1"] * (count - 1)]) if text is None else text
    (tmp_path / "scores.txt").write_text(content)
    with pytest.raises(DataError, match=words):
        file_ranker.file_ranker("scores", str(tmp_path / "scores.txt"), workbench.fold.test)


@pytest.mark.parametrize(
    ("damaged", "words"),
    [
        (lambda model: model[:0], "it is empty"),
        (lambda model: model[: len(model) // 2], CRASHED),
        (lambda model: model.replace(b"leaf_value=", b"leaf_value=\xc3 "), CRASHED),
        (lambda model: model.replace(b"tree\n", b"tr\xc3\x28\n", 1), "it is no model of Li"),
    ],
)
def test_a_model_file_that_its_library_cannot_read_is_told_and_harms_nobody(
    workbench, files, tmp_path, damaged, words
):
    model = (files[0] / "model.txt").read_bytes()
    (tmp_path / "model.txt").write_bytes(damaged(model))
    ranker = file_ranker.file_ranker("lightgbm", str(tmp_path / "model.txt"), workbench.fold.test)
    with pytest.raises(DataError, match=f"^model.txt: .*{words}.*(LightGBM says: |save it again)"):
        ranker.score(workbench.prepared.test.dataset, workbench.prepared.test.lists)


def test_a_model_is_opened_once_and_scores_what_it_is_shown(workbench, files, monkeypatch):
    folder, _ = files
    ranker = file_ranker.file_ranker("lightgbm", str(folder / "model.txt"), workbench.fold.test)
    test = workbench.prepared.test
    whole = ranker.score(test.dataset, test.lists)
    (process,) = ranker._processes
    ask = process.ask
    one = test.lists.select(np.array([3]))
    np.testing.assert_array_equal(
        ranker.score(test.dataset, one), whole[test.lists.offsets[3] : test.lists.offsets[4]]
    )
    doubled = replace(test.dataset, features=test.dataset.features * 2, fingerprint="")
    assert not np.array_equal(ranker.score(doubled, test.lists), whole)
    assert ranker._processes == [process]
    asked = []
    monkeypatch.setattr(
        process, "ask", lambda *words, **more: asked.append(1) or ask(*words, **more)
    )
    monkeypatch.setattr(file_ranker, "AT_ONCE", 25)
    np.testing.assert_array_equal(ranker.score(test.dataset, test.lists), whole)
    assert 1 < len(asked) <= len(test.lists)


def test_a_model_is_certified_by_asking_it_in_every_order(workbench, files, monkeypatch):
    """No answer of a certificate is looked up: the rows are scored in the input order."""
    folder, _ = files
    ranker = file_ranker.file_ranker("lightgbm", str(folder / "model.txt"), workbench.fold.test)
    few = workbench.test_lists(6)
    card = run_to_end(certify(ranker, few, 3, 0))
    assert (card.verdict, card.distinct_orders) == ("invariant", 18)

    def by_place(self, dataset, lists):
        self.how["columns"] = "order"
        return np.arange(len(lists.rows), dtype=np.float32)

    monkeypatch.setattr(file_ranker.OutsideModel, "score", by_place)
    fresh = file_ranker.file_ranker("lightgbm", str(folder / "model.txt"), workbench.fold.test)
    assert run_to_end(certify(fresh, few, 3, 0)).verdict == "not invariant"


def test_xgboost_models_answer_their_margins(workbench, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    train, test = workbench.fold.train, workbench.prepared.test
    data = xgboost.DMatrix(np.array(train.features), np.array(train.labels))
    made = xgboost.train({"nthread": 1, "max_depth": 3}, data, 4)
    made.save_model(tmp_path / "model.json")
    ranker = file_ranker.file_ranker("xgboost", str(tmp_path / "model.json"), test.dataset)
    expected = made.predict(xgboost.DMatrix(np.array(test.dataset.features)), output_margin=True)
    found = ranker.score(test.dataset, test.lists)
    np.testing.assert_allclose(found, expected[test.lists.rows], rtol=1e-5)


def of_lightgbm(folder):
    """Models and what is none, by name, with what is found and what to do; None: they score."""
    import lightgbm

    chance = np.random.default_rng(0)
    features, labels = chance.normal(size=(200, 6)), chance.integers(0, 3, 200)
    settings = {"verbosity": -1, "num_threads": 1, "num_leaves": 7, "min_data_in_leaf": 5}
    codes = features.copy()
    codes[:, 2] = chance.integers(0, 5, 200)
    told = labels + 3 * (codes[:, 2] % 2)
    grouped = settings | {"min_data_per_group": 1, "cat_smooth": 0.1}

    def made(settings, features, labels, **more):
        return lightgbm.train(settings, lightgbm.Dataset(features, labels, **more), 2)

    plain = made(settings, features, labels)
    text = plain.model_to_string()
    several = settings | {"objective": "multiclass", "num_class": 3}
    damaged = "it is no model of LightGBM, damaged, or of a newer version. Save it as text"
    return features, {
        "model": (text, None),
        "empty": ("", "it is empty. Save it as text: booster.save_model"),
        "head": (text[:60], f"{damaged}: .*LightGBM says: "),
        "dump": (json.dumps(plain.dump_model()), "it is a dump, as dump_model writes. Save it as"),
        "pickle": (pickle.dumps(plain), "it is a pickle. Save it as text"),
        "newer": (text.replace("version=v4", "version=v9")[:60], damaged),
        "narrow": (made(settings, features[:, :4], labels), "the model has 4 columns, the data s"),
        "classes": (made(several, features, labels), "it gives 3 numbers a document, one a class"),
        "by category": (made(grouped, codes, told, categorical_feature=[2]),
                        r"it splits column 3 by category, and the data has -?\d.* there. Give"),
    }  # fmt: skip


def of_xgboost(folder):
    """The same of XGBoost."""
    xgboost = pytest.importorskip("xgboost")
    chance = np.random.default_rng(0)
    features, labels = chance.normal(size=(200, 6)), chance.integers(0, 3, 200)

    def made(features, labels, settings=(), **more):
        data = xgboost.DMatrix(features, labels, **more)
        return xgboost.train({"nthread": 1, "max_depth": 3, **dict(settings)}, data, 2)

    plain = made(features, labels)
    text = plain.save_raw("json").decode()
    codes = features.copy()
    codes[:, 2] = chance.integers(0, 5, 200)
    by_category = made(codes, labels + 3 * (codes[:, 2] % 2), {"tree_method": "hist"},
                       feature_types=[*"qqcqqq"], enable_categorical=True)  # fmt: skip
    several = {"objective": "multi:softprob", "num_class": 3}
    damaged, save = "it is no model of XGBoost, damaged", "Save it as JSON or UBJSON"
    dump = "\n".join(plain.get_dump(dump_format="json"))
    return features, {
        "model": (text, None),
        "binary": (bytes(plain.save_raw("ubj")), None),
        "empty": ("", f"it is empty. {save}"),
        "half": (text[: len(text) // 2], f"{damaged}.*{save}.*XGBoost says: 'Expecting"),
        "text for a number": (text.replace('"loss_changes":[', '"loss_changes":["x",'),
                              f"{damaged}.*{save}.*XGBoost says: '[a-zA-Z].*'"),
        "dump": (f"[{dump}]", "it is a dump, as dump_model writes"),
        "dump for people": (plain.get_dump()[0].join(["booster[0]:\n", ""]), "a dump, as dump_"),
        "pickle": (pickle.dumps(plain), "it is a pickle"),
        "other JSON": ("{}", "it is no model of XGBoost"),
        "narrow": (made(features[:, :4], labels), "the model has 4 columns, the data set 6 f"),
        "classes": (made(features, labels, several), "it gives 3 numbers a document, one a class"),
        "by category": (by_category, "it splits column 3 by category, and"),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # the libraries' own, in a process that says nothing else
@pytest.mark.parametrize(
    ("made", "library", "name"),
    [(of_lightgbm, "lightgbm", "model.txt"), (of_xgboost, "xgboost", "model.json")],
)
def test_why_a_model_file_is_not_scored_is_told_in_our_words(tmp_path, made, library, name):
    path, (features, files) = tmp_path / name, made(tmp_path)
    given = {"features": features.astype(np.float32), "ids": np.arange(1, 7), "names": "uvwxyz"}
    for kind, (content, words) in files.items():
        if hasattr(content, "save_model"):
            content.save_model(path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        if words is None:
            assert np.shape(model_scores(library, path, **given)[0]) == (200,), kind
            continue
        with pytest.raises(ModelError) as told:
            model_scores(library, path, **given)
        assert re.search(words, str(told.value)), (kind, str(told.value))
        assert str(tmp_path) not in str(told.value), kind


@pytest.mark.parametrize(
    ("model", "ids", "rule", "due"),
    [
        (ModelColumns(2), (1, 3), "", ("order", (0, 1))),
        (ModelColumns(4, used={1, 3}), (1, 3), "", ("id", (-1, 0, -1, 1))),
        (ModelColumns(4, used={0, 2}), (1, 3), "", ("id-1", (0, -1, 1, -1))),
        (
            ModelColumns(3, used={0, 1, 2}),
            (1, 3),
            "",
            r"the data set lacks columns that it uses: 1 \(",
        ),
        (ModelColumns(4, used={0, 1, 3}), (1, 3), "", "read in several ways"),
        (ModelColumns(None), (1, 3), "", ("order", (0, 1))),
        (ModelColumns(None), (1, 3), "id", ("id", (-1, 0, -1, 1))),
        (ModelColumns(None, used={1, 3}, rules=("id",)), (1, 3), "", ("id", (-1, 0, -1, 1))),
        (
            ModelColumns(None, used={1, 9}, rules=("id",)),
            (1, 3),
            "",
            r"that it uses: 9 \(.*columns id",
        ),
        (ModelColumns(None, used={1}, rules=("id",)), (1, 3), "order", "order does not fit"),
        (ModelColumns(3), (1, 2), "", r"--columns id-1 \(.*, or --columns id \("),
        (ModelColumns(3), (1, 2), "id", ("id", (-1, 0, 1))),
        (ModelColumns(3), (1, 2), "id-1", ("id-1", (0, 1, -1))),
        (ModelColumns(3), (1, 2), "order", "--columns order does not fit"),
        (ModelColumns(3), (1, 2), "names", "no names"),
        (ModelColumns(300, used={0, 4}), (1, 5, 9), "", ("id-1", None)),
        (ModelColumns(1), (1, 2), "", "1 column, the data set 2 features"),
        (ModelColumns(0), (), "", "0 columns"),
        (ModelColumns(2, ("b", "a b")), (1, 2), "", ("names", (1, 0))),
        (ModelColumns(2, ("b", "c")), (1, 2), "", "lacks c; the model does not know a_b"),
        (ModelColumns(2, ("b", "c")), (1, 2), "order", ("order", (0, 1))),
        (ModelColumns.of(["Column_0", "Column_1"], 2), (1, 2), "", ("order", (0, 1))),
    ],
)
def test_columns_are_matched_by_name_or_by_the_only_rule_that_fits(model, ids, rule, due):
    names = ["a b", "b"] if len(ids) == 2 and model.names else [f"feature_{at}" for at in ids]
    if isinstance(due, str):
        with pytest.raises(ModelError, match=due):
            match_columns(model, ids, names, rule)
        return
    match = match_columns(model, ids, names, rule)
    assert match.rule == due[0]
    assert match.sources[: len(due[1] or ())] == (due[1] or ())


def test_unknown_kinds_and_files_are_refused(workbench, tmp_path):
    with pytest.raises(UnknownNameError):
        run_to_end(bring("pickle", tmp_path, workbench.fold, workbench.store))
    with pytest.raises(DataError, match="no such file"):
        file_ranker.file_ranker("lightgbm", "/nowhere", workbench.fold.test)


QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"d": 1, "e": -1}, "3": {"f": 1}}
RUNS = {
    "good": Run("good", {"1": {"a": 3.0, "c": 2.0, "z": 1.0}, "2": {"d": 1.0}, "3": {"f": 1.0}}),
    "poor": Run("poor", {"1": {"z": 3.0, "b": 2.0, "a": 1.0}, "2": {"e": 2.0, "d": 1.0}}),
}


def written(folder):
    """The judgments and runs above as files."""
    qrels = folder / "qrels.txt"
    qrels.write_text(
        "".join(f"{t} 0 {d} {g}\n" for t, grades in QRELS.items() for d, g in grades.items())
    )
    paths = []
    for name, run in RUNS.items():
        path = folder / f"{name}.run.gz"
        lines = [f"{t} Q0 {d} 0 {s} {name}\n" for t, f in run.scores.items() for d, s in f.items()]
        path.write_bytes(gzip.compress("".join(lines).encode()))
        paths.append(path)
    return qrels, paths


def test_runs_are_measured_over_all_judged_topics_by_hand(tmp_path):
    result = outside_runs.compare_runs(*written(tmp_path), ("AP", "RR", "P@1", "NDCG@10"))
    frame = benchmark_table.means(result, result.measures)
    plain = [Measure.parse(name).without_conventions for name in frame["measure"]]
    means = frame.assign(measure=plain).set_index(["ranker", "measure"])["mean"]
    assert means["good", "AP"] == pytest.approx(1)
    assert means["poor", "RR"] == pytest.approx((1 / 3 + 1 / 2 + 0) / 3)  # topic 3 is missing
    assert means["poor", "AP"] == pytest.approx((1 / 3 / 2 + 1 / 2 + 0) / 3)
    assert means["poor", "P@1"] == 0
    ideal = 2 / np.log2(2) + 1 / np.log2(3)  # the gain of trec_eval is the grade
    poor = (2 / np.log2(4) / ideal + 1 / np.log2(3) + 0) / 3
    assert means["poor", "NDCG@10"] == pytest.approx(poor)
    assert result.facts["missing"] == {"good": 0, "poor": 1}


def test_a_run_over_other_topics_is_told(tmp_path, capsys):
    qrels, paths = written(tmp_path)
    other = tmp_path / "other.run"
    other.write_text("1 Q0 a 1 1.0 other\n8 Q0 a 1 1.0 other\n9 Q0 a 1 1.0 other\n")
    words = ["runs", "--store", str(tmp_path / "store"), "--qrels", qrels, other, paths[0]]
    assert main([*map(str, words), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["missing"] == answer["unjudged"] == {"other": 2, "good": 0}
    (study,) = Store(tmp_path / "store").artefacts("study")
    assert study.facts["unjudged"] == {"other": 2, "good": 0}


def test_the_same_files_are_one_stored_comparison(tmp_path):
    qrels, runs = written(tmp_path)
    store = Store(tmp_path / "store")
    keys = {outside_runs.keep(outside_runs.compare_runs(qrels, runs), store).key for _ in range(2)}
    assert len(keys) == 1
    opened = StudyResult.open(store.find(keys.pop()).path)
    frame = benchmark_table.against_baseline(opened, str(opened.measures[1]), "poor")
    assert Measure.parse(str(opened.measures[1])).name == "AP"
    assert frame.set_index("ranker").loc["good"][["wins", "losses"]].tolist() == [3, 0]


@pytest.mark.parametrize(
    ("qrels", "words"),
    [
        ("9 0 a 1\n", "good.run.gz: no topic of it is judged in other.txt"),
        ("1 0 q 1\n", "good.run.gz: none of its documents is judged in other.txt"),
        ("", "other.txt: no lines"),
        ("1 0 a\n", "other.txt:1: 3 columns instead of 4"),
        ("1 0 a good\n", "other.txt:1: 'good' where a whole number is due"),
    ],
)
def test_judgments_that_do_not_belong_to_the_runs_are_told(tmp_path, qrels, words):
    _, runs = written(tmp_path)
    (tmp_path / "other.txt").write_text(qrels)
    with pytest.raises(DataError, match=words):
        outside_runs.compare_runs(tmp_path / "other.txt", runs)


def test_runs_of_one_tag_and_one_file_name_are_told_apart(tmp_path):
    qrels, (good, _) = written(tmp_path)
    (tmp_path / "copy").mkdir()
    copy = tmp_path / "copy" / good.name
    copy.write_bytes(good.read_bytes())
    named = tmp_path / "random.run"
    named.write_text("1 Q0 a 1 1.0 random\n")
    result = outside_runs.compare_runs(qrels, [good, copy, named])
    names = ["good.run.gz (1)", "good.run.gz (2)", "random.run"]
    assert list(result.recipe["runs"]) == names
    assert result.facts["files"][names[2]] == "random.run"


def test_grades_below_zero_are_in_the_pool_and_not_judged(tmp_path):
    """The inferred AP of trec_eval extrapolates over them; no other measure changes."""
    import pytrec_eval

    draws = np.random.default_rng(5)
    grades = {
        str(topic): {f"d{at}": int(grade) for at, grade in enumerate(draws.integers(-1, 3, 20))}
        for topic in range(6)
    }
    run = {
        topic: {f"d{at}": float(s) for at, s in enumerate(draws.normal(size=25))}
        for topic in grades
    }
    qrels, path = tmp_path / "q", tmp_path / "r"
    qrels.write_text("".join(f"{t} 0 {d} {g}\n" for t, of in grades.items() for d, g in of.items()))
    path.write_text(
        "".join(f"{t} Q0 {d} 0 {s} x\n" for t, of in run.items() for d, s in of.items())
    )
    wanted = {
        "InfAP": "infAP",
        "AP": "map",
        "NDCG@10": "ndcg_cut_10",
        "Bpref": "bpref",
        "P@5": "P_5",
    }
    result = outside_runs.compare_runs(qrels, [path], tuple(wanted))
    expected = pytrec_eval.RelevanceEvaluator(grades, set(wanted.values())).evaluate(run)
    means = benchmark_table.means(result, result.measures).set_index("measure")["mean"]
    for measure, name in zip(result.measures, wanted.values(), strict=True):
        mean = sum(found[name] for found in expected.values()) / len(grades)
        assert means[measure] == pytest.approx(mean, abs=1e-5), name


def test_a_model_that_was_stopped_early_scores_with_its_best_rounds(workbench, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    train, valid = workbench.fold.train, workbench.fold.valid
    data, held = (
        xgboost.DMatrix(np.array(part.features), np.array(part.labels)) for part in (train, valid)
    )
    settings = {"nthread": 1, "max_depth": 6, "eta": 1.0, "eval_metric": "rmse"}
    made = xgboost.train(
        settings, data, 60, evals=[(held, "valid")], early_stopping_rounds=5, verbose_eval=False
    )
    made.save_model(tmp_path / "model.json")
    rounds = made.best_iteration + 1
    assert rounds < made.num_boosted_rounds()
    path = tmp_path / "model.json"
    artefact = run_to_end(bring("xgboost", path, workbench.fold, workbench.store))
    assert artefact.recipe["ranker"]["rounds"] == rounds
    told = f"It scores with {rounds} of its {made.num_boosted_rounds()} rounds (best_iteration)."
    assert told in artefact.facts["columns"]
    test = workbench.prepared.test
    due = made.predict(
        xgboost.DMatrix(np.array(test.dataset.features)),
        output_margin=True, iteration_range=(0, rounds),
    )  # fmt: skip
    found = registry.load(artefact.path).score(test.dataset, test.lists)
    np.testing.assert_allclose(found, due[test.lists.rows], rtol=1e-5)
    head = json.loads((artefact.path / "ranker.json").read_text())
    old = tmp_path / "old"
    old.mkdir()
    (old / "model").write_bytes(path.read_bytes())
    (old / "ranker.json").write_text(json.dumps({n: v for n, v in head.items() if n != "columns"}))
    with pytest.raises(ArtefactError, match=r"an earlier version brought this.*its file again"):
        registry.load(old)

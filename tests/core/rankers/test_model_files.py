"""Model files of other libraries: right scores, columns by rule, refusals in plain words."""

import json
import pickle
import re

import numpy as np
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import DataError, MissingPackageError
from shuffleproof.core.library.import_ranker import bring
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import FILES, SCORES
from shuffleproof.core.rankers.outside import file_ranker, model_files
from shuffleproof.core.rankers.outside.columns import ModelError
from shuffleproof.core.rankers.outside.model_files import expected_grades, model_scores
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.invariance.study import certify
from shuffleproof.core.studies.workbench import Workbench

pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries' own

TREES = """## LambdaMART
## No. of trees = 2
<ensemble>
 <tree id="1" weight="0.5">
  <split><feature> 3 </feature><threshold> 1.0 </threshold>
   <split pos="left"><output> -2.0 </output></split>
   <split pos="right"><feature> 1 </feature><threshold> 0.25 </threshold>
    <split pos="left"><output> 1.0 </output></split>
    <split pos="right"><output> 4.0 </output></split></split></split>
 </tree>
 <tree id="2" weight="2"><split><output> 0.5 </output></split></tree>
</ensemble>
"""
ROWS = np.array([[0, 9, 1], [0.25, 9, 1.5], [0.5, 9, 2]], dtype=np.float32)  # features 1, 2, 3
ONE_TREE = '<ensemble><tree weight="{0}"><split><output>{1}</output></split></tree></ensemble>'
RANKLIB = {
    "trees": (TREES, [0.0, 1.5, 3.0]),
    "declared": (f'<?xml version="1.0"?>{TREES.split("2", 1)[1]}', [0.0, 1.5, 3.0]),
    "forest": (f"## Random Forests\n{ONE_TREE.format(1, 3)}{ONE_TREE.format(2, 4)}", [5.5] * 3),
    "linear": ("## Linear Regression\n## Lambda = 1e-10\n0:0.5 1:2 3:-1\n", [-0.5, -0.5, -0.5]),
    "ascent": ("## Coordinate Ascent\n1:0.5 3:0.25", [0.25, 0.5, 0.75]),
}
BOMB = '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><ensemble>&c;</ensemble>'


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("models"))
    return run_to_end(Workbench.open("sample", ListRecipe(("feature:3",), 10), store, "small"))


def given(rows=ROWS, names=None, **more):
    ids = np.arange(1, rows.shape[1] + 1)
    names = names or [f"feature_{at}" for at in ids]
    return {"features": rows, "ids": ids, "names": names, **more}


def onnx_linear(path, weights, *, axis=False, inputs=1, softmax=False):
    """A linear model of one output by hand; with an axis of 1 in front; over documents."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, numbers = onnx.helper, onnx.TensorProto.FLOAT
    shape = [*([1] if axis else []), None, len(weights)]
    given = [helper.make_tensor_value_info(f"x{at}", numbers, shape) for at in range(inputs)]
    out = helper.make_tensor_value_info("y", numbers, [*shape[:-1], 1])
    tensor = helper.make_tensor("w", numbers, [len(weights), 1], weights)
    nodes = [helper.make_node("MatMul", ["x0", "w"], ["z"])]
    kind, more = ("Softmax", {"axis": -2}) if softmax else ("Identity", {})
    nodes.append(helper.make_node(kind, ["z"], ["y"], **more))
    graph = helper.make_graph(nodes, "linear", given, [out], [tensor])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)


def of_onnx(path, train):
    weights = np.linspace(-1, 1, train.features.shape[1]).astype(np.float32)
    onnx_linear(path, weights.tolist(), axis=True)
    return lambda features: features @ weights


def of_torchscript(path, train):
    """A network that reads the whole list: features less their mean over its documents."""
    torch = pytest.importorskip("torch")

    class Centred(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(train.features.shape[1], 1)

        def forward(self, features: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.linear(features - features.mean(dim=0, keepdim=True)))

    torch.manual_seed(0)
    network = Centred()
    torch.jit.trace(network, torch.rand(7, train.features.shape[1])).save(str(path))
    return lambda features: network(torch.tensor(features)).detach().numpy().ravel()


def of_catboost(path, train):
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostRegressor(
        iterations=8, depth=3, verbose=0, allow_writing_files=False, thread_count=1
    )
    model.fit(np.array(train.features), np.array(train.labels))
    model.save_model(str(path), format="json")
    return model.predict


def of_sklearn(path, train):
    """A scaled classifier of grades, whose score is the expected grade."""
    skops_io = pytest.importorskip("skops.io")
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=20))
    skops_io.dump(model.fit(train.features, train.labels.astype(int)), path)
    return lambda features: model.predict_proba(features) @ model.classes_


def of_ranklib(path, train):
    path.write_text("## Linear Regression\n0:0.5 1:2 3:-1\n")
    columns = [list(train.feature_ids).index(at) for at in (1, 3)]
    return lambda features: 0.5 + features[:, columns] @ np.array([2.0, -1.0])


MADE = {"onnx": of_onnx, "torchscript": of_torchscript, "catboost": of_catboost,
        "sklearn": of_sklearn, "ranklib": of_ranklib}  # fmt: skip


def test_every_kind_of_file_but_scores_has_a_reader():
    assert set(model_files.LIBRARIES) == set(FILES) - {SCORES}
    assert {*MADE, "lightgbm", "xgboost"} == set(model_files.LIBRARIES)


@pytest.mark.parametrize("kind", MADE)
def test_a_file_scores_each_list_as_its_own_library_does_also_from_the_store(
    workbench, tmp_path, kind
):
    path, test = tmp_path / "model", workbench.test_lists(12)
    score = MADE[kind](path, workbench.fold.train)
    bounds = test.lists.offsets
    features = np.array(test.dataset.features[test.lists.rows])
    due = np.concatenate([score(part) for part in np.split(features, bounds[1:-1])])
    ranker = file_ranker.file_ranker(kind, str(path), test.dataset)
    np.testing.assert_allclose(ranker.score(test.dataset, test.lists), due, rtol=2e-6, atol=2e-6)
    artefact = run_to_end(bring(kind, path, workbench.fold, workbench.store))
    rule = "id" if kind == "ranklib" else "order"
    assert artefact.facts["columns"][0].startswith(f"Columns by rule {rule}: ")
    stored = registry.load(artefact.path)
    np.testing.assert_array_equal(
        stored.score(test.dataset, test.lists), ranker.score(test.dataset, test.lists)
    )
    if model_files.LIBRARIES[kind].lists:
        assert run_to_end(certify(stored, test, 3, 0)).verdict == "invariant"


def test_a_process_that_reads_lists_is_kept_and_replaced_when_it_ends(workbench, tmp_path):
    of_onnx(tmp_path / "model", workbench.fold.train)
    test = workbench.test_lists(3)
    ranker = file_ranker.file_ranker("onnx", str(tmp_path / "model"), test.dataset)
    first = ranker.score(test.dataset, test.lists)
    (process,) = ranker._processes
    ranker.score(test.dataset, test.lists)
    assert ranker._processes == [process]
    process.kill()
    process.process.wait()
    np.testing.assert_array_equal(ranker.score(test.dataset, test.lists), first)
    assert ranker._processes != [process]


@pytest.mark.parametrize("name", RANKLIB)
def test_models_of_ranklib_score_as_computed_by_hand(tmp_path, name):
    text, due = RANKLIB[name]
    (tmp_path / "model").write_text(text)
    scores, how = model_scores("ranklib", tmp_path / "model", **given())
    np.testing.assert_allclose(scores, due)
    assert (how["columns"], how["absent"]) == ("id", [])


def test_a_feature_that_ranklib_reads_and_the_data_lack_is_0_only_if_the_user_says_so(tmp_path):
    (tmp_path / "model").write_text("## Coordinate Ascent\n1:2 7:5")
    with pytest.raises(ModelError, match=r"lacks columns that it uses: 7 .*--columns id"):
        model_scores("ranklib", tmp_path / "model", **given())
    scores, how = model_scores("ranklib", tmp_path / "model", **given(rule="id"))
    np.testing.assert_allclose(scores, [0, 0.5, 1])
    assert how["absent"] == [7]


def test_a_softmax_over_documents_is_not_read_as_probabilities_of_grades(tmp_path):
    onnx_linear(tmp_path / "model", [1.0, 0.0, 0.0], axis=True, softmax=True)
    scores, _ = model_scores("onnx", tmp_path / "model", **given())
    due = np.exp(ROWS[:, 0])
    np.testing.assert_allclose(scores, due / due.sum(), rtol=1e-6)
    assert expected_grades(np.array([[0.5, 0.7]]), 1).tolist() == [[0.5, 0.7]], "sums to 1.2"


@pytest.mark.parametrize("zipmap", [False, True])
def test_an_onnx_classifier_scores_with_its_expected_grade(tmp_path, zipmap):
    skl2onnx = pytest.importorskip("skl2onnx")
    from sklearn.linear_model import LogisticRegression

    chance = np.random.default_rng(0)
    features = chance.normal(size=(60, 3)).astype(np.float32)
    model = LogisticRegression().fit(features, chance.integers(0, 3, 60))
    made = skl2onnx.to_onnx(model, features[:1], options={"zipmap": zipmap})
    (tmp_path / "model").write_bytes(made.SerializeToString())
    scores, _ = model_scores("onnx", tmp_path / "model", **given(features))
    np.testing.assert_allclose(scores, model.predict_proba(features) @ [0, 1, 2], rtol=1e-5)


@pytest.mark.parametrize("kind", ["catboost", "sklearn"])
def test_columns_with_names_are_matched_by_name(tmp_path, kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS[:, ::-1].copy(), columns=["c", "b", "a"])
    if kind == "sklearn":
        skops_io = pytest.importorskip("skops.io")
        from sklearn.linear_model import LinearRegression

        model = LinearRegression().fit(frame, [3.0, 1.0, 2.0])
        skops_io.dump(model, tmp_path / "model")
    else:
        catboost = pytest.importorskip("catboost")
        model = catboost.CatBoostRegressor(iterations=9, verbose=0, allow_writing_files=False)
        model.fit(frame, [3.0, 1.0, 2.0])
        model.save_model(str(tmp_path / "model"))
    scores, how = model_scores(kind, tmp_path / "model", **given(names=["a", "b", "c"]))
    np.testing.assert_allclose(scores, model.predict(frame), rtol=1e-5)
    assert how["columns"] == "names"
    with pytest.raises(ModelError, match="the data set lacks c; the model does not know d"):
        model_scores(kind, tmp_path / "model", **given(names=["a", "b", "d"]))


def untrusted(path):
    from sklearn.tree import DecisionTreeRegressor

    model = DecisionTreeRegressor().fit(ROWS, [1, 2, 3])
    pytest.importorskip("skops.io").dump(model, path)


def narrow(path):
    torch = pytest.importorskip("torch")
    torch.jit.script(torch.nn.Linear(2, 1)).save(str(path))


def pickled(path):
    from sklearn.linear_model import LinearRegression

    path.write_bytes(pickle.dumps(LinearRegression()))


def text(content):
    return lambda path: path.write_text(content)


REFUSED = {
    "a pickle": ("sklearn", pickled, r"it is a pickle\. Save it with skops: skops\.io\.dump"),
    "of joblib": ("sklearn", lambda path: path.write_bytes(b"x\x9cab"), "it is compressed, as jo"),
    "untrusted": ("sklearn", untrusted, "does not trust: sklearn.tree._tree.Tree. Export"),
    "two inputs": ("onnx", lambda path: onnx_linear(path, [1.0] * 3, inputs=2),
                   r"it takes 2 inputs: .*Export it with one input: float\[documents, feat"),
    "wide": ("onnx", lambda path: onnx_linear(path, [1.0] * 9), r"9 columns, the data set 3 feat"),
    "narrow": ("torchscript", narrow,
               r"matched \(--columns\)\. TorchScript says: 'RuntimeError: mat1 and mat2 shapes"),
    "a bomb": ("ranklib", text(BOMB), "it declares a document type or entities"),
    "another algorithm": ("ranklib", text("## RankNet\n1 2"), "it is a model of 'RankNet'.*MART"),
    "half": ("ranklib", text(TREES[:200]), "of a newer version. Save it with RankLib"),
    "without a side": ("ranklib", text(TREES.replace("left", "l")), "RankLib, damaged"),
    "words": ("ranklib", text("no model"), "it is no model of RankLib"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_scored_gives_one_clear_message(tmp_path, name):
    kind, make, words = REFUSED[name]
    pytest.importorskip(model_files.LIBRARIES[kind].module)
    make(tmp_path / "model")
    with pytest.raises(ModelError) as told:
        model_scores(kind, tmp_path / "model", **given())
    assert re.search(words, str(told.value)), str(told.value)
    assert str(tmp_path) not in str(told.value)


@pytest.mark.parametrize("kind", MADE)
def test_garbage_harms_nobody(workbench, tmp_path, kind):
    pytest.importorskip(model_files.LIBRARIES[kind].module)
    (tmp_path / "model").write_bytes(np.random.default_rng(0).bytes(3000))
    name = model_files.LIBRARIES[kind].name
    test = workbench.test_lists(2)
    ranker = file_ranker.file_ranker(kind, str(tmp_path / "model"), test.dataset)
    with pytest.raises(DataError, match=f"^model: it is no model of {name}.*Save|Export"):
        ranker.score(test.dataset, test.lists)


def test_an_answer_that_is_no_number_is_refused(workbench, tmp_path):
    width, test = workbench.fold.train.features.shape[1], workbench.test_lists(2)
    onnx_linear(tmp_path / "model", [float("nan")] * width)
    ranker = file_ranker.file_ranker("onnx", str(tmp_path / "model"), test.dataset)
    with pytest.raises(DataError, match="it answered nan for a document"):
        ranker.score(test.dataset, test.lists)


def test_a_zip_that_unpacks_to_far_more_is_not_opened(tmp_path, monkeypatch):
    import zipfile

    pytest.importorskip("skops.io")
    with zipfile.ZipFile(tmp_path / "model", "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("schema.json", b" " * 10**6)
    monkeypatch.setattr(model_files, "UNPACKED", 10**5)
    with pytest.raises(ModelError, match="its parts unpack to"):
        model_scores("sklearn", tmp_path / "model", **given())


def test_a_library_that_is_missing_is_named_with_its_extra(tmp_path, monkeypatch):
    (tmp_path / "model").write_bytes(b"")
    for kind, extra in {"onnx": "onnx", "catboost": "catboost", "sklearn": "sklearn"}.items():
        package = model_files.LIBRARIES[kind].module
        monkeypatch.setitem(__import__("sys").modules, package, None)
        monkeypatch.setitem(__import__("sys").modules, package.partition(".")[0], None)
        with pytest.raises(MissingPackageError, match=rf"pip install 'shuffleproof\[{extra}\]'"):
            model_scores(kind, tmp_path / "model", **given())


def test_an_exported_model_is_compared_with_its_original(tmp_path, capsys):
    """The same weights rank alike, on any scale; others do not, and the first swap is named."""
    files = {"one": "1:2 3:-1", "scaled": "0:7 1:4 3:-2", "other": "1:2 3:1", "none": "1:0"}
    for name, weights in files.items():
        (tmp_path / name).write_text(f"## Coordinate Ascent\n{weights}")
    lists = f"--store {tmp_path}/store --initial feature:3 --depth 10 --queries 9"

    def asked(like, *more):
        words = f"doctor --ranker ranklib:{tmp_path}/one --like ranklib:{tmp_path}/{like} {lists}"
        status = main([*words.split(), *more])
        return status, capsys.readouterr().out

    status, printed = asked("scaled", "--json")
    found = json.loads(printed)
    assert (status, found["share"], found["same"], found["lists"]) == (0, 1.0, 9, 9)
    assert found["first"] is None
    assert found["tau"] == {"mean": pytest.approx(1, abs=1e-2), "min": pytest.approx(1, abs=0.1)}
    assert found["largest_difference"] > 1
    status, printed = asked("other", "--json")
    found = json.loads(printed)
    assert status == 3
    assert found["same"] < 9
    first = found["first"]
    (high, low), (other_high, other_low) = first["scores"], first["other_scores"]
    assert (high - low) * (other_high - other_low) <= 0
    assert asked("none")[0] == 3, "ties of all documents are no order"
    status, printed = asked("other")
    assert first["query"] in printed
    assert "another order" in printed

"""The page Attention and what it asks for: maps, clicks, zoom, errors."""

import json
from typing import ClassVar

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from shuffleproof.app import services
from shuffleproof.app.figures import attention as figure
from shuffleproof.app.views.attention import export
from shuffleproof.app.views.attention import map as attention_map
from shuffleproof.app.views.attention.map import Overview, WantedMap
from shuffleproof.core.answers import attention
from shuffleproof.core.answers.attention import unpack_array
from shuffleproof.core.answers.list_edit import ListEdit, offered_families
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.perturb.base import origins
from shuffleproof.core.rankers.attention.maps import by_document, record_maps
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.workbench import run_to_end

SECONDS = 90


def script():
    import streamlit as st

    from shuffleproof.app.views.attention import page as attention
    from shuffleproof.app.views.train import page as train

    pages = [
        st.Page(attention.page, url_path="attention", default=True),
        st.Page(train.page, title="Train", url_path="train"),
    ]
    st.navigation(pages).run()


def opened(root, monkeypatch, **address):
    monkeypatch.setattr(services, "store", lambda: Store(root))  # without the shipped sample
    test = AppTest.from_function(script, default_timeout=SECONDS)
    for name, value in address.items():
        test.query_params[name] = value
    return test.run()


def texts(page):
    assert not page.exception
    assert not [one.value for one in page.error]
    return [one.value.replace("\\", "") for one in (*page.markdown, *page.caption)]


def said(page):
    """The sentence of the verdict, behind its chip."""
    (sentence,) = [text for text in texts(page) if "badge" in text]
    chip, _, words = sentence.partition("**")
    assert "badge" in chip
    return words.rstrip("*")


def test_the_order_shown_plays_no_part_in_setrank_and_does_in_dlcm(trained_sample, monkeypatch):
    root = trained_sample[0].root
    page = opened(root, monkeypatch)
    assert page.selectbox(key="ranker").value == "setrank-imsab-init"
    assert said(page).startswith(
        "Changing the input order leaves SetRank IMSAB + init's attention unchanged"
    )
    page = page.selectbox(key="ranker").select("dlcm").run()
    assert said(page).startswith("Changing the input order changes DLCM's attention by up to")
    page = page.selectbox(key="ranker").select("setrank-imsab-init").run()
    page = page.selectbox(key="change").select("transpositions:20:0").run()
    assert "Changing the initial ranking changes SetRank IMSAB + init's attention" in said(page)


def test_the_address_restores_the_choices(trained_sample, monkeypatch):
    address = {
        "ranker": "dlcm", "map": "reset", "change": "shuffled:77", "sorting": "score",
        "look": "difference", "cell": "3.5",
    }  # fmt: skip
    page = opened(trained_sample[0].root, monkeypatch, **address)
    whole = " ".join(texts(page))
    assert "reset gates" in whole
    assert "seed 77" in whole
    assert "The cell" in [one.value for one in page.subheader]
    assert "unit 6" in whole


def test_a_cell_names_both_documents_their_labels_ranks_and_features(trained_sample, monkeypatch):
    page = opened(trained_sample[0].root, monkeypatch, cell="0.3", query="503")
    _, documents, features = (frame.value for frame in page.dataframe[:3])
    assert documents.index.tolist()[:3] == ["label", "initial rank", "ranked"]
    assert documents.shape[1] == 2
    assert documents.loc["initial rank"].tolist() == ["1", "4"]
    apart = features["apart (σ)"].str.replace("−", "-").astype(float).abs().to_numpy()
    assert (np.diff(apart) <= 0).all()
    assert set(features.columns[1:3]) == set(documents.columns)


def test_arcs_of_setrank_stay_with_their_documents_and_those_of_dlcm_do_not(trained_sample):
    for name, stays in (("setrank-imsab-init", True), ("dlcm", False)):
        item, _, workbench = question(trained_sample, name, changes=[])
        test = workbench.prepared.test
        docs = int(test.lists.lengths[test.dataset.query_ids.index("503")])
        item["rankers"] = [item["ranker"]]
        orders = (list(range(docs)), list(range(docs))[::-1])
        first, second = (
            attention.attended(item | {"order": order})[item["ranker"]] for order in orders
        )
        heads = [[document for document, _ in pairs[:1]] for pairs in first]
        assert (heads == [[document for document, _ in pairs[:1]] for pairs in second]) is stays


def seen(docs=5, kinds=(("documents", 2, 2),)):
    generator = np.random.default_rng(0)
    return Overview(
        kinds=kinds,
        documents=tuple(f"<d{at}>" for at in range(docs)),
        labels=(np.arange(docs) % 3 == 0).astype(np.float32),
        ranks=np.tile(np.arange(docs), (2, 1)),
        scores=generator.random((2, docs)).astype(np.float32),
        shown=np.stack([np.arange(docs), generator.permutation(docs)]),
        changes=(),
        reads=(),
        came=0,
    )


def square(docs):
    return np.random.default_rng(1).dirichlet(np.ones(docs), docs).astype(np.float32)


@pytest.mark.parametrize("sorting", attention_map.SORTED)
@pytest.mark.parametrize("look", attention_map.LOOKS)
def test_cells_are_those_of_the_documents_that_stand_there(sorting, look):
    list_, before, after = seen(), square(5), square(5).T.copy()
    view = attention_map.View(look, sorting, (1, 4))
    found = attention_map.lay_out(list_, (before, after), WantedMap("documents", 0, None), view)
    due = {"both": before, "difference": after - before}[look]
    for row in range(5):
        for column in range(5):
            one, other = int(found.rows[row]), int(found.columns[column])
            assert found.cells.values[row, column] == pytest.approx(due[one, other])
            if look == "both":
                assert found.cells.after[row, column] == pytest.approx(after[one, other])
            assert found.cells.rows.names[row] == f"{row + 1}. <d{one}>"
    row, column = found.cells.chosen
    assert (int(found.rows[row]), int(found.columns[column])) == (1, 4)


def test_side_by_side_both_maps_answer_clicks_and_share_colours_and_order():
    view = attention_map.View("both", "label", (1, 4))
    after = square(5).T.copy()
    found = attention_map.lay_out(seen(), (square(5), after), WantedMap("documents", 0, 0), view)
    drawn = figure.heat(found.cells)
    maps = [trace for trace in drawn.data if trace.type == "heatmap"]
    marks = [trace for trace in drawn.data if trace.type == "scatter" and trace.text is not None]
    assert [trace.xaxis for trace in maps] == [trace.xaxis for trace in marks] == ["x", "x2"]
    assert len({(trace.zmin, trace.zmax) for trace in maps}) == 1
    assert [trace.showscale for trace in maps] == [True, False]
    assert (marks[0].x == marks[1].x).all()
    assert f"{after[found.rows[2], found.columns[3]]:.3g}" in marks[1].text[13]
    assert len(drawn.layout.shapes) == 2
    frame = export.cells_table(found)
    assert frame["weight after"].tolist() == pytest.approx(found.cells.after.ravel().tolist())


def test_the_documents_looked_at_most_have_the_largest_columns():
    before = np.float32([[0.1, 0.2, 0.7], [0.0, 0.5, 0.5], [0.2, 0.2, 0.6]])
    after = before.copy()
    after[1, :] = after[:, 1] = np.nan
    wanted = WantedMap("documents", 0, None)
    table = attention_map.looked_at(seen(3), (before, after), wanted)
    assert table["document"].tolist() == ["<d2>", "<d1>", "<d0>"]
    assert table["weight"].tolist() == pytest.approx([60.0, 30.0, 10.0], rel=1e-5)
    left = 0.1 + 0.7 + 0.2 + 0.6
    assert table["weight after"].tolist()[::2] == pytest.approx(
        [100 * 1.3 / left, 100 * 0.3 / left], rel=1e-5
    )
    assert np.isnan(table["weight after"][1])
    assert attention_map.looked_at(seen(3), (before, after), WantedMap("phi", 0, None)) is None
    assert attention_map.looked_at(seen(3), (before, after), WantedMap("spread", 0, None)) is None


def question(trained_sample, ranker, **more):
    store, workbench = trained_sample
    name = RankerName.parse(ranker)
    found = run_to_end(workbench.train(name, {"epochs": "1", "steps_per_epoch": "3"}))
    return {
        "store": str(store.root), "data": "sample",
        "recipe": workbench.recipe.plain(),
        "query": "503", "ranker": str(found.artefact.key), "change": "shuffled:3", **more,
    }, found.ranker, workbench  # fmt: skip


@pytest.mark.parametrize("name", ["dlcm", "setrank-imsab-init"])
def test_answers_by_json_are_the_record_itself(trained_sample, name):
    item, ranker, workbench = question(trained_sample, name)
    told = json.loads(json.dumps(attention.overview(item)))
    test = workbench.prepared.test
    at = test.dataset.query_ids.index("503")
    one = JudgedLists(test.dataset, test.lists.select(np.array([at])))
    changed = ListEdit.parse("shuffled:3").of(one)
    place = {row: at for at, row in enumerate(one.lists.rows.tolist())}
    order = np.array([place[row] for row in changed.lists.rows.tolist()])
    before = record_maps(ranker, one)
    after = by_document(record_maps(ranker, changed), order)
    assert [kind for kind, _, _ in told["kinds"]] == list(before.kinds)
    assert told["shown"][1] == order.tolist()
    np.testing.assert_allclose(told["scores"], [before.scores, after.scores], rtol=1e-5)
    for kind, blocks, heads in told["kinds"]:
        asked_for = item | {"kind": kind, "block": blocks - 1, "head": heads - 1}
        answer = json.loads(json.dumps(attention.chosen_map(asked_for)))
        np.testing.assert_allclose(
            unpack_array(answer["before"]), before.map_of(kind, blocks - 1, heads - 1), atol=1e-6
        )
        np.testing.assert_allclose(
            unpack_array(answer["after"]), after.map_of(kind, blocks - 1, heads - 1), atol=1e-6
        )


@pytest.mark.parametrize("text", [text for text in offered_families() if "reverse" not in text])
def test_what_a_change_left_is_matched_by_document(trained_sample, text):
    item, ranker, workbench = question(trained_sample, "setrank-imsab-init", change=text)
    test = workbench.prepared.test
    one = JudgedLists(
        test.dataset, test.lists.select(np.array([test.dataset.query_ids.index("503")]))
    )
    told = attention.overview(item)
    changed = ListEdit.parse(text).of(one)
    record, own = record_maps(ranker, changed), origins(one, changed).tolist()
    weights = unpack_array(
        attention.chosen_map(item | {"kind": "spread", "block": 0, "head": 1})["after"]
    )
    for at, row in enumerate(one.lists.rows.tolist()):
        if row in own:
            due = record.weights["spread"][0][1][own.index(row)]
            np.testing.assert_allclose(weights[at], due, atol=1e-6)
            assert told["ranks"][1][at] == changed.lists.ranks[own.index(row), 0]
        else:
            assert np.isnan(weights[at]).all()
            assert told["ranks"][1][at] == -1
    assert sorted(told["shown"][1]) == list(range(len(one.lists.rows)))
    assert told["came"] == own.count(-1)
    assert all(np.isfinite(change) for _, _, change in told["changes"])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("shuffled:7", "input order"), ("-initial", "input order"), ("label", "input order"),
        ("transpositions:5:2", "initial ranking"), ("rotate-shown:5:0", "input order"),
        ("cut:0.5:0", "set of documents"), ("feature-noise:0.1:3", "features"),
        ("transpositions:5+cut:0.5:0", "set of documents"),
    ],
)  # fmt: skip
def test_changes_read_back(text, what):
    change = ListEdit.parse(text)
    assert str(change) == text
    assert change.words()
    assert change.change_name == what


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "transpositions:x",
        "cut",
        "label-flips:0.1",
        "gradient-sign:0.1",
        "batches:1",
        "transpositions:-1:0",
        "feature:3",
    ],
)
def test_other_changes_are_refused(text):
    with pytest.raises(UsageError):
        ListEdit.parse(text)


def test_of_a_long_list_the_first_documents_are_drawn(monkeypatch):
    class Page:
        session_state: ClassVar = {}
        query_params: ClassVar = {}

    monkeypatch.setattr(attention_map, "st", Page)
    most, weights = attention_map.MOST_CELLS, square(700)
    view = attention_map.View("both", "label", None)
    found = attention_map.lay_out(seen(700), (weights, weights), WantedMap("documents", 0, 0), view)
    assert found.cells.values.shape == (most, most)
    assert found.left_out == 700 - most
    Page.session_state[attention_map.CHART] = {"selection": {"points": [{"y": 2, "x": 3}]}}
    attention_map.take(found)()
    assert Page.query_params["cell"] == f"{found.rows[2]}.{found.columns[3]}"

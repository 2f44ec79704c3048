"""The page Attention and what it asks for: maps, clicks, zoom, errors."""

import html
import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from shuffleproof.app import exports, scoring, services
from shuffleproof.app.figures import attention as figure
from shuffleproof.app.views.attention import export, sentences
from shuffleproof.app.views.attention import map as attention_map
from shuffleproof.app.views.attention.map import Overview, WantedMap
from shuffleproof.core.answers import attention
from shuffleproof.core.answers.attention import pack_array, unpack_array
from shuffleproof.core.answers.list_edit import ListEdit, offered_families
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ScoringError, UsageError
from shuffleproof.core.perturb.base import origins
from shuffleproof.core.rankers.attention.kinds import KINDS
from shuffleproof.core.rankers.attention.maps import by_document, record_maps
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.workbench import run_to_end
from tests import places

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
    (sentence,) = [text for text in texts(page) if "**After re-indexing" in text]
    chip, _, words = sentence.partition("**")
    assert "badge" in chip
    return words.rstrip("*")


def asked(page, name):
    found = page.query_params.get(name)
    return found[0] if isinstance(found, list) and found else found


def test_without_rankers_it_says_what_to_do(tmp_path, monkeypatch):
    page = opened(tmp_path, monkeypatch)
    assert "No ranker with attention" in page.info[0].value
    assert "shuffleproof train setrank-msab" in page.code[0].value


def test_the_order_shown_plays_no_part_in_setrank_and_does_in_dlcm(trained_sample, monkeypatch):
    root = trained_sample[0].root
    page = opened(root, monkeypatch)
    assert page.selectbox(key="ranker").value == "setrank-imsab-init"
    assert said(page).endswith("the order shown plays no part in SetRank IMSAB + init.")
    page = page.selectbox(key="ranker").select("dlcm").run()
    assert said(page).endswith("the order shown is part of what DLCM reads.")
    page = page.selectbox(key="ranker").select("setrank-imsab-init").run()
    page = page.selectbox(key="change").select("transpositions:20:0").run()
    assert said(page).endswith("the initial ranking is part of what SetRank IMSAB + init reads.")


def test_the_list_shown_is_summed_up_and_offers_no_command(trained_sample, monkeypatch):
    page = opened(trained_sample[0].root, monkeypatch)
    assert any("draws on" in text and "mean over" in text for text in texts(page))
    assert not [one for one in page.button if "all test queries" in one.label]


def test_every_map_of_a_ranker_can_be_looked_at(trained_sample, monkeypatch):
    page = opened(trained_sample[0].root, monkeypatch)
    maps = page.selectbox(key="map").options
    assert len(maps) == 4
    for kind in ("gather", "spread", "rollout"):
        page = page.selectbox(key="map").select(kind).run()
        assert any(KINDS[kind].words in text for text in texts(page))
        assert asked(page, "map") == kind
    page = page.selectbox(key="map").select("spread").run()
    page = page.selectbox(key="head").select("2").run()
    page = page.selectbox(key="block").select("2").run()
    assert any("documents ← points, block 2, head 2" in text for text in texts(page))
    page = page.selectbox(key="ranker").select("dlcm").run()  # has no such map
    assert any("gate paths" in text for text in texts(page))


def test_the_address_restores_the_choices(trained_sample, monkeypatch):
    address = {
        "ranker": "dlcm", "map": "reset", "change": "shuffled:77", "sorting": "score",
        "look": "difference", "cell": "3.5",
    }  # fmt: skip
    page = opened(trained_sample[0].root, monkeypatch, **address)
    whole = " ".join(texts(page))
    assert "reset gates" in whole
    assert "seed 77" in whole
    assert page.subheader[0].value == "The cell"
    assert "unit 6" in whole


def test_a_cell_names_both_documents_their_labels_ranks_and_features(trained_sample, monkeypatch):
    page = opened(trained_sample[0].root, monkeypatch, cell="0.3", query="503")
    documents, features = page.dataframe[0].value, page.dataframe[1].value
    assert documents.index.tolist()[:3] == ["label", "initial rank", "ranked"]
    assert documents.shape[1] == 2
    assert documents.loc["initial rank"].tolist() == ["1", "4"]
    apart = features["apart (σ)"].str.replace("−", "-").astype(float).abs().to_numpy()
    assert (np.diff(apart) <= 0).all()
    assert set(features.columns[1:3]) == set(documents.columns)


def test_what_the_address_has_in_vain_is_said_or_dropped(trained_sample, monkeypatch):
    page = opened(
        trained_sample[0].root, monkeypatch, change="nonsense", cell="9999.1", zoom="x",
        ranker="lambdamart",
    )  # fmt: skip
    assert not page.exception
    warned = " ".join(one.value.replace("\\", "") for one in page.warning)
    assert "no readable change" in warned
    assert "lambdamart" in warned
    assert asked(page, "cell") is None
    assert asked(page, "zoom") is None


def test_shuffling_again_takes_the_next_seed(trained_sample, monkeypatch):
    page = opened(trained_sample[0].root, monkeypatch, change="shuffled:4")
    page = next(one for one in page.button if one.label == "Shuffle").click().run()
    assert asked(page, "change") == "shuffled:5"
    assert any("seed 5" in text for text in texts(page))


def test_an_error_of_the_scoring_process_is_a_sentence(trained_sample, monkeypatch):
    class Dead:
        def ask(self, *_):
            raise ScoringError("it <b>died</b>", "Try again.", "details")

    monkeypatch.setattr(scoring, "resident", Dead)
    page = opened(trained_sample[0].root, monkeypatch, query="502", change="shuffled:991")
    assert not page.exception
    assert "The scoring process has no answer" in page.error[0].value.replace("\\", "")
    assert "<b>" not in page.error[0].value


def in_process(program, root):
    home = places.ROOT
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"SHUFFLEPROOF_HOME": str(root), "PYTHONPATH": str(home / ".types")},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )


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
    view = attention_map.View(look, sorting, None, (1, 4))
    found = attention_map.lay_out(list_, (before, after), WantedMap("documents", 0, None), view)
    due = {"both": before, "before": before, "after": after, "difference": after - before}[look]
    for row in range(5):
        for column in range(5):
            one, other = found.rows.item(row), found.columns.item(column)
            assert found.cells.values[row, column] == pytest.approx(due[one, other])
            if look == "both":
                assert found.cells.after[row, column] == pytest.approx(after[one, other])
            assert found.cells.rows.names[row] == f"{row + 1}. <d{one}>"
    row, column = found.cells.chosen
    assert (found.rows.item(row), found.columns.item(column)) == (1, 4)


def test_700_documents_are_60_bins_and_a_click_zooms_to_60_documents():
    list_, before = seen(700), square(700)
    view = attention_map.View("before", "label", None, None)
    wanted = WantedMap("documents", 0, None)
    found = attention_map.lay_out(list_, (before, before), wanted, view)
    assert found.cells.values.shape == (60, 60)
    assert found.cells.grouped
    assert found.cells.values.mean() == pytest.approx(1 / 700, rel=1e-3)
    assert found.cells.columns.names[-1].endswith("–700")
    place = found.rows.middle(30)
    zoomed = attention_map.lay_out(
        list_, (before, before), wanted, replace(view, zoom=(place, place))
    )
    assert zoomed.cells.values.shape == (60, 60)
    assert not zoomed.cells.grouped
    first = zoomed.rows.edges[0]
    assert first <= place < first + 60
    inside = before[np.ix_(zoomed.rows.order, zoomed.columns.order)]
    np.testing.assert_allclose(zoomed.cells.values, inside[first : first + 60, first : first + 60])


def test_a_click_zooms_or_opens(monkeypatch):
    class Page:
        session_state: ClassVar = {}
        query_params: ClassVar = {}

    monkeypatch.setattr(attention_map, "st", Page)
    view = attention_map.View("before", "shown", None, None)
    for docs, name in ((700, "zoom"), (5, "cell")):
        weights = square(docs)
        found = attention_map.lay_out(
            seen(docs), (weights, weights), WantedMap("documents", 0, 0), view
        )
        points = [{"y": 2, "x": 3}]
        Page.session_state[attention_map.CHART] = {"selection": {"points": points}}
        attention_map.take(found)()
        assert name in Page.query_params
    assert Page.query_params["cell"] == "2.3"
    low, high = Page.query_params["zoom"].split(".")
    assert (int(low) // 12, int(high) // 12) == (2, 3)


def test_the_figure_escapes_names_and_says_itself_in_words():
    view = attention_map.View("before", "label", None, None)
    found = attention_map.lay_out(
        seen(), (square(5), square(5)), WantedMap("documents", 0, 0), view
    )
    drawn = figure.heat(found.cells)
    marks = json.loads(drawn.to_json())["data"][1]
    assert marks["type"] == "scatter"
    assert [names(mark) for mark in marks["text"][:6]] == [
        (found.cells.rows.names[at // 5], found.cells.columns.names[at % 5]) for at in range(6)
    ]
    assert all("<d" not in text for text in marks["text"])
    assert [drawn.data[1].y[7], drawn.data[1].x[7]] == [1, 2]
    assert figure.heat(found.cells).data[0].zmin == 0


def test_side_by_side_both_maps_answer_clicks_and_share_colours_and_order():
    view = attention_map.View("both", "label", None, (1, 4))
    after = square(5).T.copy()
    found = attention_map.lay_out(seen(), (square(5), after), WantedMap("documents", 0, 0), view)
    drawn = figure.heat(found.cells)
    maps = [trace for trace in drawn.data if trace.type == "heatmap"]
    marks = [trace for trace in drawn.data if trace.type == "scatter" and trace.text is not None]
    assert [trace.xaxis for trace in maps] == [trace.xaxis for trace in marks] == ["x", "x2"]
    assert len({(trace.zmin, trace.zmax) for trace in maps}) == 1
    assert [trace.showscale for trace in maps] == [True, False]
    assert (marks[0].x == marks[1].x).all()
    assert f"{after[found.rows.item(2), found.columns.item(3)]:.3g}" in marks[1].text[13]
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


def names(text):
    """Row and column that the words at a mark begin with."""
    row, _, rest = html.unescape(text).partition("</b> ← ")
    return row.removeprefix("<b>"), rest.partition("<br>")[0]


def test_a_document_that_is_gone_is_empty_and_said_to_be():
    list_, before = seen(), square(5)
    after = before.copy()
    after[1, :] = after[:, 1] = np.nan
    list_ = replace(list_, ranks=np.array([[0, 1, 2, 3, 4], [0, -1, 1, 2, 3]]))
    list_.scores[1, 1] = np.nan
    view = attention_map.View("difference", "shown", None, None)
    found = attention_map.lay_out(list_, (before, after), WantedMap("documents", 0, 0), view)
    assert np.isnan(found.cells.values[1]).all()
    assert found.cells.limits == pytest.approx((-0.01 * before.max(), 0.01 * before.max()))
    assert figure.MISSING in figure.heat(found.cells).data[1].text[1]
    table = attention_map.documents_table(list_, [0, 1, 2])
    assert table["initial rank after"].isna().tolist() == [False, True, False]
    assert table["initial rank after"].tolist()[2] == 2
    assert table["ranked after"].isna().tolist() == [False, True, False]


def test_a_difference_of_rounding_is_pale():
    before = square(5)
    view = attention_map.View("difference", "label", None, None)
    found = attention_map.lay_out(
        seen(), (before, before + np.float32(1e-8)), WantedMap("documents", 0, 0), view
    )
    assert found.cells.limits[1] == pytest.approx(0.01 * before.max(), rel=1e-3)
    assert found.cells.limits[0] == -found.cells.limits[1]


def test_small_pictures_know_their_block_and_head():
    pictures = [np.random.default_rng(0).random((3, 4, 4)) for _ in range(2)]
    drawn = json.loads(figure.small(pictures, (1, 2)).to_json())
    (marks,) = [trace for trace in drawn["data"] if trace["type"] == "scatter"]
    found = [tuple(place) for place in marks["customdata"]]
    assert found == [(block, head) for block in range(2) for head in range(3)]
    (ring,) = drawn["layout"]["shapes"]
    colors = figure.small(pictures, (1, 2)).data[0]
    inside = [
        (np.searchsorted(edges, ring[low]), np.searchsorted(edges, ring[high] - 1e-9))
        for edges, low, high in ((colors.y, "y0", "y1"), (colors.x, "x0", "x1"))
    ]
    tile = colors.z[slice(*inside[0]), slice(*inside[1])]
    own = pictures[1][2]
    np.testing.assert_allclose(tile, (own - own.min()) / np.ptp(own), atol=1e-6)
    assert len(figure.small(pictures, (0, None)).layout.shapes) == 3
    assert not figure.small(pictures, (-1, None)).layout.shapes


def test_what_is_taken_away_opens(trained_sample):
    view = attention_map.View("before", "label", None, None)
    found = attention_map.lay_out(
        seen(), (square(5), square(5)), WantedMap("documents", 0, 0), view
    )
    frame = export.cells_table(found)
    assert len(frame) == 25
    assert frame["weight"].sum() == pytest.approx(5, rel=1e-4)
    svg = "" if exports.drawing_lacks() else exports.figure_as(figure.heat(found.cells), "svg")
    assert not svg or b"<svg" in svg[:300]


class FakeRanker:
    """As much of a trained ranker as a report needs."""

    label, name, key = "setrank-msab", "setrank-msab", "ranker-1"


def test_the_report_holds_sentence_picture_and_documents():
    view = attention_map.View("before", "label", None, None)
    wanted = WantedMap("documents", 0, 0)
    found = attention_map.lay_out(seen(), (square(5), square(5)), wanted, view)
    one = type("One", (), {"data": "mine<", "query": "q1", "recipe": None})
    taken = export.ExportedView(one, FakeRanker, wanted, "shuffled:1", view)
    page = export.report(taken, seen(), figure.heat(found.cells), "It <is> so.").decode()
    assert "It &lt;is&gt; so." in page
    assert "mine&lt;" in page
    assert "&lt;d0&gt;" in page
    assert "plotly" in page


def question(trained_sample, ranker, **more):
    store, workbench = trained_sample
    found = run_to_end(workbench.train(ranker, {"epochs": "1", "steps_per_epoch": "3"}))
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


def test_a_pair_of_documents_by_json(trained_sample):
    item, _, workbench = question(trained_sample, "dlcm", documents=[0, 2])
    found = attention.pair(item)["features"]
    test = workbench.prepared.test
    lists = test.lists.select(np.array([test.dataset.query_ids.index("503")]))
    values = test.dataset.features[lists.rows].astype(np.float64)
    due = (values[0] - values[2]) / values.std(axis=0)
    by_id = {feature: apart for feature, _, _, apart in found}
    for at, feature in enumerate(test.dataset.feature_ids):
        if feature in by_id:
            assert by_id[feature] == pytest.approx(due[at], rel=1e-5)
    assert abs(found[0][3]) == pytest.approx(np.abs(due).max(), rel=1e-5)
    alone = attention.pair(item | {"documents": [1, 1]})["features"]
    due = (values[1] - values.mean(axis=0)) / values.std(axis=0)
    assert abs(alone[0][3]) == pytest.approx(np.abs(due).max(), rel=1e-5)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("shuffled:7", "order shown"), ("-initial", "order shown"), ("label", "order shown"),
        ("transpositions:5:2", "initial ranking"), ("rotate-shown:5:0", "order shown"),
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
        "by-hand:1.0",
    ],
)
def test_other_changes_are_refused(text):
    with pytest.raises(UsageError):
        ListEdit.parse(text)


def test_arrays_travel_whole():
    array = np.random.default_rng(0).random((2, 3, 4)).astype(np.float32)
    assert np.array_equal(unpack_array(json.loads(json.dumps(pack_array(array)))), array)


def test_the_block_of_the_largest_change_is_told_where_there_are_several():
    change = ListEdit.parse("-initial")
    both = [("paths", 0, 0.1), ("paths", 1, 0.2)]
    said = sentences.verdict("dlcm", ("order",), change, both).text
    assert said.startswith("After re-indexing the largest change of a weight is 0.200 (")
    assert ", block 2)" in said
    assert "block" not in sentences.verdict("dlcm", ("order",), change, both[:1]).text


def test_a_list_without_relevant_documents_has_no_relevant_mass():
    heads = pd.DataFrame({"map": ["paths"], "neighbours": [2.0], "relevant": [np.nan]})
    assert sentences.summary("dlcm", heads.assign(chance=np.nan), 3) == (
        "DLCM draws on 2.0 of 3 documents (effective neighbours). The list has no relevant "
        "document."
    )


def test_verdicts():
    shown, ranking = ListEdit.parse("shuffled:1"), ListEdit.parse("transpositions:5:0")
    flat, moved = [("documents", 0, 1e-8)], [("documents", 1, 0.2), ("phi", 0, 9.0)]
    reads = ("features", "neighbours", "ranks")
    assert "plays no part" in sentences.verdict("setrank-msab", (), shown, flat).text
    assert "is part of what" in sentences.verdict("setrank-msab-init", reads, ranking, moved).text
    assert "0.200" in sentences.verdict("setrank-msab-init", reads, ranking, moved).text
    assert "code is wrong" in sentences.verdict("setrank-msab", reads, shown, moved).text
    assert "changes nothing here" in sentences.verdict("dlcm", ("order",), shown, flat).text


def test_the_lines_of_python_print_the_map(trained_sample):
    store, workbench = trained_sample
    (name,) = [
        f"{artefact.facts['name']}#{artefact.key.digest[:8]}"
        for artefact in store.artefacts("ranker")
        if artefact.facts["name"] == "setrank-imsab-init"
    ]
    facts = {"data": "sample", "lists": workbench.recipe.plain()}
    which = {"kind": "spread", "block": 1, "head": None, "change": "cut:0.5:0"}
    ended = in_process(export.list_python(name, "503", which, facts), store.root)
    assert ended.stdout.startswith("[["), ended.stderr[-2000:]
    assert "nan" in ended.stdout

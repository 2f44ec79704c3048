"""The Invariance page: nothing trained, another order by every control, errors, examinations."""

import os
import re
import subprocess
import sys

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from shuffleproof.app import services
from shuffleproof.app.proposals import CONTRASTING
from shuffleproof.core import jobs
from shuffleproof.core.answers.one_list import (
    Answer,
    explanation,
    fell_most,
    moves,
)
from shuffleproof.core.answers.shown_order import Documents
from shuffleproof.core.errors import JobError
from shuffleproof.core.store.artefacts import Store
from tests import places

SECONDS = 60


def script():
    import streamlit as st

    from shuffleproof.app.views import invariance
    from shuffleproof.app.views.train import page as train

    pages = [
        st.Page(invariance.page, url_path="invariance", default=True),
        st.Page(train.page, title="Train", url_path="train"),
    ]
    st.navigation(pages).run()


@pytest.fixture
def page(trained_sample, monkeypatch):
    return opened(trained_sample[0].root, monkeypatch)


def opened(root, monkeypatch, **address):
    monkeypatch.setattr(services, "store", lambda: Store(root))  # without the shipped sample
    test = AppTest.from_function(script, default_timeout=SECONDS)
    for name, value in address.items():
        test.query_params[name] = value
    return test.run()


def texts(page):
    assert not page.exception
    return [one.value for one in page.markdown] + [one.value for one in page.caption]


def said(page):
    """The verdict above the picture, as plain text, after what becomes of the rankers."""
    (sentence,) = [text for text in texts(page) if text.endswith("**") and " moves " in text]
    return sentence.replace("\\", "").replace("**", "")


def plain(text):
    """Without the word joiners that keep a measure in one line."""
    return text.replace("\u2060", "")


def button(page, label):
    return next(one for one in page.button if one.label == label)


def asked(page, name):
    found = page.query_params.get(name)
    return found[0] if isinstance(found, list) and found else found


def test_it_opens_on_a_shuffle_that_one_ranker_follows(page):
    assert re.search(r"DLCM loses \d+ % of its NDCG@10 and moves \d+ of \d+", plain(said(page)))
    assert "SetRank IMSAB + init loses nothing and moves none" in said(page)
    assert page.subheader[0].value == "Why"
    whole = " ".join(texts(page)).replace("\\", "")
    assert "the ranking changes in 150 of 150 lists" in whole
    assert "of 150 lists changed the ranking" in whole


def test_the_buttons_write_the_order_into_the_address(page):
    page = button(page, "Shuffle").click().run()
    assert asked(page, "order") == "shuffled:2"
    assert "before: by the initial ranking" in " ".join(texts(page))
    page = button(page, "Reverse").click().run()
    assert asked(page, "order") == "-shuffled:2"
    assert "SetRank IMSAB + init loses nothing and moves none" in said(page)
    page = button(page, "Initial order").click().run()
    assert asked(page, "order") == "initial"
    assert "Nothing is shuffled" in " ".join(texts(page))


def test_documents_are_removed_copied_and_changed(page):
    page.selectbox(key="document").set_value(2).run()
    page = button(page, "Remove").click().run()
    assert asked(page, "changed") == "removed:2"
    assert "; before: the list without changes" in " ".join(texts(page))
    assert button(page, "Worst order").disabled
    page.selectbox(key="document").set_value(3).run()
    page = button(page, "Duplicate").click().run()
    page.selectbox(key="changed feature").set_value(1).run()
    slider = page.slider[0]
    page = slider.set_value(slider.max).run()
    assert page.query_params["changed"] == [
        "removed:2", "copied:3", f"feature:3:1:{slider.max:g}",
    ]  # fmt: skip
    assert "scores of other documents changed by up to" in " ".join(texts(page))
    page = button(page, "Undo changes").click().run()
    assert "changed" not in page.query_params


def test_the_worst_order_costs_more_than_the_first_shuffle(page):
    def lost(shown):
        return int(re.search(r"DLCM loses (\d+) %", said(shown))[1])

    first = lost(page)
    page = button(page, "Worst order").click().run()
    assert asked(page, "order").startswith("worst:")
    assert "in the worst order found; before: by the initial ranking" in " ".join(texts(page))
    assert lost(page) >= first


def test_changes_of_another_list_are_left_out(trained_sample, monkeypatch):
    page = opened(trained_sample[0].root, monkeypatch, changed="removed:9999")
    assert "are left out" in page.info[0].value
    assert "changed" not in page.query_params


def test_the_address_restores_the_list(trained_sample, page, monkeypatch):
    page = button(page, "Shuffle").click().run()
    page = page.selectbox(key="query").select_index(5).run()
    again = opened(
        trained_sample[0].root,
        monkeypatch,
        order=asked(page, "order"),
        query=page.selectbox(key="query").value,
    )
    assert said(again) == said(page)
    assert again.selectbox(key="query").value == page.selectbox(key="query").value


def test_sorting_by_label_and_by_a_feature(page):
    page = page.selectbox(key="sorted").select("label").run()
    assert asked(page, "order") == "label"
    page = page.selectbox(key="sorted").select("feature").run()
    page = page.selectbox(key="feature").select(4).run()
    assert asked(page, "order") == "feature:4"
    page = page.selectbox(key="sorted").select("shuffled").run()
    page = page.number_input(key="seed").set_value(77).run()
    assert asked(page, "order") == "shuffled:77"


def test_a_document_is_moved_by_hand_again_and_again(page):
    page = button(page, "Initial order").click().run()
    page = page.selectbox(key="document").select_index(0).run()
    page = button(page, "Down").click().run()
    assert asked(page, "order").startswith("by-hand:1.0.2")
    page = button(page, "Down").click().run()
    assert asked(page, "order").startswith("by-hand:1.2.0.3"), "the same document goes on"
    page = page.number_input(key="place").set_value(1).run()
    assert asked(page, "order").startswith("by-hand:0.1.2")
    assert "Nothing is shuffled" in " ".join(texts(page))
    page = page.selectbox(key="query").select_index(0).run()
    assert asked(page, "order") in {None, "shuffled:1"}, "another list has other documents"
    assert page.selectbox(key="document").value is None


def uncertified(trained_sample, tmp_path):
    """A store with the rankers and without the study."""
    (tmp_path / "artefacts").mkdir()
    for artefact in trained_sample[0].artefacts():
        if artefact.key.kind != "study":
            (tmp_path / "artefacts" / str(artefact.key)).symlink_to(artefact.path)
    return tmp_path


def test_an_examination_is_handed_in_watched_and_cancelled(trained_sample, tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "start_waiting", lambda _store: True)
    monkeypatch.setattr("shuffleproof.core.answers.trained_rankers._preset", lambda *_: "small")
    page = opened(uncertified(trained_sample, tmp_path), monkeypatch)
    page = button(page, "Examine all test queries").click().run()
    (job,) = jobs.jobs_of(services.store()).list("waiting")
    assert (job.kind, job.parameters["rankers"]) == ("invariance", ["dlcm", "setrank-imsab-init"])
    assert job.parameters["lists"] == {"initial": ["feature:3"], "scores": "in-sample"}
    page = button(page.run(), "Cancel").click().run()
    assert not page.exception
    assert jobs.jobs_of(services.store()).get(job.id).state == "cancelled"


def test_a_table_of_jobs_that_cannot_be_used_leaves_the_page_alive(
    trained_sample, tmp_path, monkeypatch
):
    def refused(*_):
        raise JobError("jobs", "the disk is full", "Make room.")

    monkeypatch.setattr(jobs, "submit", refused)
    monkeypatch.setattr("shuffleproof.core.answers.trained_rankers._preset", lambda *_: "small")
    page = opened(uncertified(trained_sample, tmp_path), monkeypatch)
    page = button(page, "Examine all test queries").click().run()
    assert "DLCM loses" in said(page)
    assert "disk is full" in page.error[0].value


def test_two_rankers_are_trained_where_there_are_none_and_then_compared(
    trained_sample, tmp_path, monkeypatch
):
    (tmp_path / "artefacts").mkdir()
    networks = []
    for artefact in trained_sample[0].artefacts():
        is_network = artefact.recipe.get("ranker", {}).get("name") in CONTRASTING
        place = tmp_path / "artefacts" / artefact.path.name
        networks += [(place, artefact.path)] if is_network else []
        if not is_network:
            place.symlink_to(artefact.path)
    assert len(networks) == len(CONTRASTING)
    monkeypatch.setattr(jobs, "start_waiting", lambda _store: True)
    page = opened(tmp_path, monkeypatch)
    button(page, "Train DLCM and SetRank IMSAB + init").click().run()
    (job,) = jobs.jobs_of(Store(tmp_path)).list("waiting")
    assert job.kind == "invariance"
    assert job.parameters["rankers"] == [f"{name}@small" for name in CONTRASTING]
    for place, path in networks[:1]:
        place.symlink_to(path)
    page = opened(tmp_path, monkeypatch)
    assert not [one for one in page.multiselect if one.label == "Rankers"], "one is being trained"
    for place, path in networks[1:]:
        place.symlink_to(path)
    assert re.search(r"DLCM loses", plain(said(opened(tmp_path, monkeypatch))))


def test_the_web_process_loads_neither_torch_nor_lightgbm(trained_sample):
    program = (
        "import sys\n"
        "from streamlit.testing.v1 import AppTest\n"
        "pages = [AppTest.from_file('app/main.py')]\n"
        "for name in ('invariance', 'attention.page'):\n"
        "    text = f'from importlib import import_module as of\\n'\n"
        "    text += f'of(\"shuffleproof.app.views.{name}\").page()'\n"
        "    pages.append(AppTest.from_string(text))\n"
        "for page in pages:\n"
        "    page.run(timeout=90)\n"
        "    assert not page.exception and not page.error, page\n"
        "    assert page.title\n"
        "loaded = [name for name in ('torch', 'lightgbm') if name in sys.modules]\n"
        "sys.exit(', '.join(loaded) or 0)\n"
    )
    home = places.ROOT
    environment = os.environ | {
        "SHUFFLEPROOF_HOME": str(trained_sample[0].root),
        "PYTHONPATH": str(home / ".types"),
    }
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]


THREE = Documents("q", ("a", "b", "c"), (0.0, 1.0, 0.0), (0, 1, 2), {})


def answer(after, reads, ranker="dlcm"):
    return Answer(ranker, reads, (3.0, 2.0, 1.0), after, (2e-7,) * 3)


def test_the_frame_of_moves():
    frame = moves(THREE, [0, 1, 2], [2, 0, 1], answer((1.0, 2.0, 3.0), ("order",)))
    assert frame["shown"].tolist() == [2, 3, 1]
    assert frame["shown_before"].tolist() == [1, 2, 3]
    assert frame["answered_before"].tolist() == [1, 2, 3]
    assert frame["answered"].tolist() == [3, 2, 1]
    assert frame["moved"].tolist() == [True, True, True]


def test_differences_within_rounding_move_nothing():
    near = Answer("setrank-imsab", (), (1.0, 1.0000001), (1.0000002, 1.0), (1e-6, 1e-6))
    two = Documents("q", ("a", "b"), (0.0, 0.0), (0, 1), {})
    frame = moves(two, [0, 1], [1, 0], near)
    assert not frame["moved"].any()
    assert frame["answered"].tolist() == frame["answered_before"].tolist()


@pytest.mark.parametrize(
    ("reads", "after", "words"),
    [
        (("features", "order"), (1.0, 2.0, 3.0), "a went from rank 1 to 3"),
        (("features", "order"), (3.0, 2.0, 1.5), "No rank changed"),
        (("features", "neighbours"), (3.0, 2.0, 1.0), "No score changed in any digit"),
        (("features", "neighbours"), (3.0, 2.0, 1.0000001), "is rounding"),
        (("features",), (1.0, 2.0, 3.0), "declares not to read the input order"),
    ],
)
def test_explanations_say_why(reads, after, words):
    given = answer(after, reads)
    assert words in explanation(given, moves(THREE, [0, 1, 2], [2, 0, 1], given))


def test_the_relevant_document_that_fell_most_is_named():
    frame = pd.DataFrame(
        {
            "document": ["a", "b", "c", "d"], "label": [0.0, 2.0, 1.0, 1.0],
            "answered_before": [1.0, 2.0, 3.0, 4.0], "answered": [4.0, 3.0, 1.0, 2.0],
            "moved": [True] * 4,
        }
    )  # fmt: skip
    assert fell_most(frame) == "Relevant document b (grade 2) fell most, from rank 2 to 3."
    both = frame.assign(answered=[1.0, 4.0, 5.0, 2.0])
    assert fell_most(both).startswith("Relevant document b (grade 2)")
    assert fell_most(both).endswith("1 other fell as far.")
    assert fell_most(frame.assign(label=0.0)) == "No relevant document fell."
    by_rounding = frame.assign(moved=[False, False, True, True])
    assert not fell_most(by_rounding)


def test_a_pair_of_documents_is_explained_for_every_ranker(page):
    assert not any(" above " in text for text in texts(page)), (
        "nothing is scored while it is closed"
    )
    page.session_state["margins"] = True
    page = page.run()
    first = _explained(page)
    assert first.keys() == {"DLCM", "SetRank IMSAB + init"}
    assert "Of the features, " in " ".join(texts(page))
    page = page.multiselect(key="margin of").set_value([3]).run()
    of_one = set.intersection(*_explained(page).values())
    assert of_one, "both rankers compare the chosen document with the next one"
    page = page.multiselect(key="margin of").set_value([3, 5]).run()
    one, other = _explained(page).values()
    assert one == other
    assert one & of_one
    assert not page.exception


def _explained(page):
    """The explained pair of each ranker."""
    whole = " ".join(texts(page)).replace("\\", "")
    found = re.findall(r"(DLCM|SetRank IMSAB \+ init) ranks (\S+) above (\S+) by [\d.]+", whole)
    return {ranker: {*pair} for ranker, *pair in found}

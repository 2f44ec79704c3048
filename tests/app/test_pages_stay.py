"""Later work changes no page: what an address without parameters shows, and what it then says."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from shuffleproof.app import navigation as pages
from shuffleproof.app import scoring, services
from shuffleproof.app.study import parts
from shuffleproof.core.answers.trained_rankers import TrainedRanker, contrast
from shuffleproof.core.data.catalogue import SAMPLE, find
from shuffleproof.core.data.mapped_file import open_fold
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.studies.registry import STUDIES
from tests import app_later, app_perturbed
from tests.golden import script

ALL = pages.PAGES
PICKED = ("initial-ranking", "perturbations", "card")
CHOSEN = {"selected": ["dlcm", "lambdamart"], "pinned": "lambdamart"}


class State:
    """What a page shows, its address, and its link."""

    def __init__(self, path, monkeypatch, **query):
        links = []
        monkeypatch.setattr(parts, "exports_row", lambda shared, _: links.append(shared.link()))
        page = AppTest.from_function(script, default_timeout=240, kwargs={"path": path})
        for name, value in query.items():
            page.query_params[name] = value
        page.run()
        assert not page.exception, page.exception
        assert not page.error, page.error
        self.page, self.links = page, links
        self.address = {
            name: text if isinstance(text, list) else [text]
            for name, text in page.query_params.items()
        }
        self.figures = [chart.proto.spec or str(chart.proto) for chart in page.get("plotly_chart")]
        kinds = ("multiselect", "selectbox", "number_input", "text_input", "button_group", "toggle")
        self.fields = {
            (kind, field.key or field.label): field.value
            for kind in kinds
            for field in page.get(kind)
        }

    def same_as(self, other):
        assert self.address == other.address
        assert self.fields == other.fields
        assert self.figures == other.figures


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A new installation: what is shipped, and nothing else."""
    return Store(tmp_path_factory.mktemp("pages"), default_store().bundled)


@pytest.fixture(scope="module")
def states(store):
    """Every page with an address that names nothing, of a new installation and after work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "store", lambda: store)
        patch.setattr(scoring, "resident", app_perturbed.Here)
        for cached in (st.cache_data, st.cache_resource):
            cached.clear()
        before = {path: State(path, patch) for path in ALL}
        chosen_before = {path: State(path, patch, **CHOSEN) for path in PICKED}
        made = app_later.work(store, [open_fold(find(SAMPLE, store).path)])
        after = {path: State(path, patch) for path in ALL}
        chosen_after = {path: State(path, patch, **CHOSEN) for path in PICKED}
        linked = {
            path: State(path, patch, **state.links[-1])
            for path, state in before.items()
            if state.links
        }
        yield before, after, linked, made, (chosen_before, chosen_after)
    for cached in (st.cache_data, st.cache_resource):
        cached.clear()


@pytest.mark.parametrize("kind", STUDIES)
def test_every_study_page_of_a_new_installation_shows_a_picture_and_a_finding(states, kind):
    shown = states[0][kind]
    assert shown.figures or kind == "invariance"  # its picture is the list that moves
    assert any(one.value.endswith("**") for one in shown.page.markdown)
    assert not [one.value for one in shown.page.info if "stored" in one.value]
    assert not [one.label for one in shown.page.expander if one.proto.expanded]


@pytest.mark.parametrize("path", ALL)
def test_later_work_changes_no_page(states, path):
    before, after, _, made, _ = states
    assert len(made) > len(STUDIES)
    after[path].same_as(before[path])


@pytest.mark.parametrize("path", ALL)
def test_addresses_and_links_say_what_is_shown(states, path):
    before, _, linked, *_ = states
    pins = {"data", *ALL[path].pins}
    assert pins <= before[path].address.keys()
    if path in linked:
        assert pins <= before[path].links[-1].keys()
        linked[path].same_as(before[path])
        assert not [one.value for one in linked[path].page.warning if "the address" in one.value]


@pytest.mark.parametrize("path", [path for path in STUDIES if "study" in ALL[path].pins])
def test_newer_results_are_one_click_away(states, path, store, monkeypatch):
    before, after, _, made, _ = states
    monkeypatch.setattr(services, "store", lambda: store)
    page = after[path].page.button(key="newer results").click().run()
    (study,) = page.query_params["study"] if isinstance(page.query_params["study"], list) else [
        page.query_params["study"]]  # fmt: skip
    assert study in made
    assert [study] != before[path].address["study"]


@pytest.mark.parametrize("path", PICKED)
def test_the_selection_is_what_a_page_shows_and_its_form_begins_with(states, path):
    """It stands in the address, nothing but a tick changes it, an empty one is not even said."""
    before, after = (chosen[path] for chosen in states[4])
    assert before.address["selected"] == CHOSEN["selected"]
    assert before.address["pinned"] == ["lambdamart"]
    assert before.fields["button_group", "show"] == ["initial ranking", "lambdamart", "dlcm"]
    assert before.fields["multiselect", "new.rankers"] == ["dlcm", "lambdamart"]
    after.same_as(before)
    assert "selected" not in states[0][path].address


def test_the_pinned_ranker_is_the_baseline_and_an_address_goes_before(states, store, monkeypatch):
    monkeypatch.setattr(services, "store", lambda: store)
    shown = states[4][0]["initial-ranking"]
    assert shown.fields["selectbox", "baseline"] == "lambdamart"
    named = State("initial-ranking", monkeypatch, **CHOSEN, show=["dlcm", "setrank-imsab"],
                  baseline="dlcm")  # fmt: skip
    assert named.fields["button_group", "show"] == ["dlcm", "setrank-imsab"]
    assert named.fields["selectbox", "baseline"] == "dlcm"
    page = named.page.multiselect(key="selected").set_value(["setrank-imsab-init"]).run()
    assert page.button_group(key="show").value == ["initial ranking", "lambdamart",
                                                  "setrank-imsab-init"]  # fmt: skip
    assert page.multiselect(key="new.rankers").value == ["setrank-imsab-init", "lambdamart"]
    assert page.query_params["selected"] in ("setrank-imsab-init", ["setrank-imsab-init"])
    page = page.multiselect(key="selected").set_value([]).run()
    assert len(page.button_group(key="show").value) > 3
    assert "selected" not in page.query_params


def test_a_hidden_ranker_is_hidden_on_all_pages(states, store, monkeypatch):
    monkeypatch.setattr(services, "store", lambda: store)
    page = State("initial-ranking", monkeypatch).page
    shown = page.button_group(key="show")
    page = shown.set_value([name for name in shown.value if name != "dlcm"]).run()
    assert page.session_state["hidden rankers"] == {"dlcm"}
    other = AppTest.from_function(script, default_timeout=240, kwargs={"path": "card"})
    other.session_state["hidden rankers"] = {"dlcm"}
    other.run()
    assert "dlcm" not in other.button_group(key="show").value
    assert len(other.button_group(key="show").value) > 2


def test_only_a_chosen_query_goes_to_other_pages(states, store, monkeypatch):
    monkeypatch.setattr(services, "store", lambda: store)
    monkeypatch.setattr(scoring, "resident", app_perturbed.Here)
    page = State("invariance", monkeypatch).page.run()
    assert "address carries query" not in page.session_state
    query = page.selectbox(key="query")
    usual = query.value
    other = next(name for name in query.options if name != usual)
    for chosen in (other, usual):
        page = page.selectbox(key="query").set_value(chosen).run()
        assert page.session_state["address carries query"] == chosen


def test_the_sample_opens_on_the_shipped_dlcm_beside_a_setrank(states):
    address = states[1]["invariance"].address
    assert [text.partition("#")[0] for text in address["rankers"]] == ["dlcm", "setrank-imsab-init"]
    assert address["order"] == ["shuffled:1"]


def test_addresses_of_before_still_open(states, store, monkeypatch):
    monkeypatch.setattr(services, "store", lambda: store)
    monkeypatch.setattr(scoring, "resident", app_perturbed.Here)
    old = State("invariance", monkeypatch, rankers=["lambdamart", "dlcm"], query="503")
    assert old.fields["multiselect", "rankers"] == ["lambdamart", "dlcm"]
    assert old.fields["selectbox", "query"] == "503"
    assert not old.page.warning


def ranker(name, day, lists=ListRecipe()):  # noqa: B008 (frozen)
    key = f"ranker-{name}{day}"
    return TrainedRanker(key, key, name, name, None, lists, {}, day, (True, day, key))


def test_the_contrast_is_the_first_that_was_whole():
    short = ListRecipe(depth=5)
    came = [
        ranker("lambdamart", "1", None), ranker("setrank-msab", "2"), ranker("dlcm", "3", short),
        ranker("dlcm-without-init", "4"), ranker("setrank-imsab-init", "5", short),
        ranker("dlcm", "6"), ranker("setrank-imsab-init", "7"),
    ]  # fmt: skip
    names = [[one.name for one in contrast(came[:count][::-1])] for count in range(len(came) + 1)]
    assert names[:4] == [[]] * 4
    assert names[4:] == [["dlcm-without-init", "setrank-msab"]] * 4

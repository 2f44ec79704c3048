"""The library's page: filters, naming, taking along, bringing in, deleting."""

import io
from functools import partial

import pytest

from shuffleproof.app import library as doors
from shuffleproof.app.library import Filter
from shuffleproof.app.views.library import page as view
from shuffleproof.core import job_kinds, jobs
from shuffleproof.core.library import entries as library
from shuffleproof.core.library import uploads
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.store import archive
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from tests import app_pages
from tests import app_tables as tables
from tests.app_pages import words


def ranker_in(store, fold, **changes):
    """A ranker's manifest: the library opens no ranker."""
    spec = registry.spec("mart", "small", **changes)
    recipe = {"ranker": spec.recipe(), "lists": "all documents"}
    prints = (fold.train.fingerprint, fold.valid.fingerprint)
    facts = {"name": "mart", "seconds": 1.5, "valid": {"NDCG@10": 0.25}}
    key = key_of("ranker", recipe, prints)
    return store.add(key, recipe, lambda place: (place / "trees.txt").write_text("x"), facts)


def filled(folder, fold):
    store = Store(folder)
    data = tables.data_set(store, fold)
    rankers = [ranker_in(store, fold, trees=trees) for trees in ("3", "4")]
    studies = [tables.ablation_in(store, fold), tables.benchmark_in(store, fold)]
    return store, data, rankers, studies


@pytest.fixture(scope="module")
def home(tmp_path_factory, fold):
    """A library that no test changes."""
    return filled(tmp_path_factory.mktemp("library"), fold)


@pytest.fixture
def shown(home, dashboard_alone):
    dashboard_alone(home[0].root)
    return home


@pytest.fixture
def own(tmp_path, dashboard_alone, fold):
    """A library to change."""
    dashboard_alone(tmp_path)
    return filled(tmp_path, fold)


opened = partial(app_pages.opened, "library")


def keys(*artefacts):
    return [str(artefact.key) for artefact in artefacts]


def test_everything_stands_in_the_table_with_size_age_and_cost(shown):
    _, data, rankers, studies = shown
    test = opened()
    assert view.QUESTION in words(test)
    table = test.dataframe[0].value.set_index("key")
    assert set(keys(data, *rankers, *studies)) <= set(table.index)
    row = table.loc[str(rankers[0].key)]
    assert (row["name"], row["kind"], row["data"]) == ("MART", "ranker", tables.DATA)
    assert row["seconds"] == 1.5
    assert "trees 3" in row["what"]
    assert table.loc[str(studies[0].key)]["name"] == "ablation"
    assert table.loc[str(studies[0].key)]["seconds"] == pytest.approx(1.2)
    assert table.loc[str(data.key)]["needed"] == 4
    assert "5 of 5 entries" in words(test)


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (Filter(kind="study"), {"ablation", "benchmark"}),
        (Filter(text="TREES 4 ranker"), {"mart"}),
        (Filter(text="ablat"), {"ablation"}),
        (Filter(data=tables.DATA, kind="data"), {tables.DATA}),
        (Filter(text="nothing of the kind"), set()),
    ],
)
def test_filters_narrow_what_is_shown(shown, wanted, names):
    found = doors.filter_entries(doors.entries(), wanted)
    assert {entry.name for entry in found} == names


def test_one_entry_says_what_it_needs_and_how_to_make_it_again(shown):
    _, data, _, studies = shown
    test = opened(chosen=keys(studies[0]))
    assert f"Made from: {tables.DATA}" in words(test)
    assert "compute time" in words(test)
    assert any(
        "study ablation" in code.value and "--data my_set" in code.value for code in test.code
    )
    assert any("question = Ablation(" in code.value for code in test.code)
    assert any("SetRank (SIGIR 2020)" in code.value for code in test.code)
    (link,) = test.get("page_link")
    assert f"study={studies[0].key}" in str(link.proto)
    test = opened(chosen=keys(data))
    assert "Needed by:" in words(test)


def test_names_are_given(own):
    store, _, _, studies = own
    test = opened(chosen=keys(studies[0]))
    test.text_input(key=f"name {studies[0].key}").set_value("Table 3")
    next(one for one in test.button if one.label == "Rename").click().run()
    assert store.names()["Table 3"] == studies[0].key
    test = opened(chosen=keys(studies[1]))
    test.text_input(key=f"name {studies[1].key}").set_value("Table 3")
    next(one for one in test.button if one.label == "Rename").click().run()
    assert "it is the name of" in words(test)


def test_the_data_set_in_use_is_renamed_under_the_user_and_never_to_the_sample(own):
    store, data, *_ = own
    test = opened(chosen=keys(data))
    test.text_input(key=f"name {data.key}").set_value("sample")
    next(one for one in test.button if one.label == "Rename").click().run()
    assert "the name exists already" in words(test)
    test.text_input(key=f"name {data.key}").set_value("better")
    next(one for one in test.button if one.label == "Rename").click().run()
    assert not test.exception
    assert store.names() == {"better": data.key}
    assert test.session_state["data wanted"] == "better"


def test_deleting_says_what_was_made_from_it_and_takes_it_along_if_wanted(own):
    store, data, rankers, studies = own
    test = opened(chosen=keys(data))
    test.button(key="delete").click().run()
    assert "Made from it, directly or not:" in words(test)
    assert "2 rankers" in words(test)
    assert "2 studies" in words(test)
    assert test.button(key="delete now").label == "Delete 1"
    test = opened(**{"chosen": keys(data), "with dependents": True})
    test.button(key="delete").click().run()
    assert test.button(key="delete now").label == "Delete 5"
    assert {entry.key for entry in library.entries(store)} >= {data.key, studies[0].key}
    test.button(key="delete now").click().run()
    assert not test.exception
    assert test.session_state["data"] == "sample"
    assert store.find(data.key) is None
    assert store.find(rankers[0].key) is None
    assert {entry.name for entry in library.entries(store)} <= {"sample"}


def test_what_is_worked_on_is_not_deleted(own):
    store, data, *_ = own
    jobs.submit(store, "train", {"data": tables.DATA, "ranker": "mart@small"})
    test = opened(chosen=keys(data))
    test.button(key="delete").click().run()
    assert "1 job is working on it" in words(test)
    assert test.button(key="delete now").disabled


def test_an_archive_holds_what_is_needed_and_opens_elsewhere(shown, tmp_path):
    _, data, _, studies = shown
    chosen = [one for one in doors.entries() if one.key == studies[0].key]
    content = doors.archive_of(chosen)
    (tmp_path / "all.zip").write_bytes(content)
    other = Store(tmp_path / "other")
    taken = run_to_end(archive.read_archive(tmp_path / "all.zip", other))
    assert {one.key for one in taken} == {studies[0].key, data.key}
    test = opened(chosen=keys(studies[0]))
    assert "2 entries with their dependencies" in words(test)
    assert any(one.label == "Archive (zip)" for one in test.get("download_button"))


def test_an_archive_is_spooled_handed_in_and_taken(own, shown_archive, monkeypatch):
    store, *_ = own
    file = io.BytesIO(shown_archive)
    monkeypatch.setattr(view.st, "session_state", state := {})
    view._hand_in("from elsewhere.zip", file)
    (job,) = jobs.jobs_of(store).list()
    assert state[view.MINE] == job.id
    assert job.kind == view.IMPORT
    result = run_to_end(job_kinds.import_archive(store, **job.parameters))
    assert len(result["artefacts"]) == 2
    with pytest.raises(Exception, match="not in the store any more"):
        uploads.folder_of(store, job.parameters["upload"])


@pytest.fixture
def shown_archive(home, tmp_path):
    store, _, _, studies = home
    every = library.entries(store)
    chosen = [entry.artefact for entry in library.with_dependencies(every, [studies[0].key])]
    run_to_end(archive.write(store, chosen, tmp_path / "elsewhere.zip"))
    return (tmp_path / "elsewhere.zip").read_bytes()


def test_the_store_says_its_size(own):
    assert "The store holds" in words(opened())

"""The page Train: its form and costs, trainings in every state, what is trained already."""

import statistics
from datetime import UTC, datetime

import pandas as pd
import pytest

from shuffleproof.app import benchmarks, library, recent_work, runs, training
from shuffleproof.core import tuning
from shuffleproof.core.data.catalogue import find
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import named_presets, preset_differences, registry
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, ranker_key
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.named_presets import NamedPreset
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.result import StudyResult
from tests.app_jobs import desk, opened, train_script, words


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """A store that holds the sample's data and nothing else."""
    store = Store(tmp_path_factory.mktemp("sample"))
    find("sample", store)
    return store


@pytest.fixture
def table(sample, tmp_path, monkeypatch):
    """A new store with a link to the sample's data."""
    (tmp_path / "artefacts").mkdir()
    for folder in (sample.root / "artefacts").iterdir():
        (tmp_path / "artefacts" / folder.name).symlink_to(folder)
    return desk(Store(tmp_path), monkeypatch)


@pytest.fixture
def own(trained_sample, monkeypatch, tmp_path):
    """The store with two trained rankers, and no jobs."""
    made = desk(trained_sample[0], monkeypatch)
    for job in made.jobs.list():
        made.jobs.cancel(job.id)
        made.jobs.forget(job.id)
    return made


SETTINGS = {"all settings": True}
"""The session of somebody who has opened all settings."""


def train_button(page):
    return next(one for one in page.button if one.key == "train now")


def chosen(page, *names):
    page.multiselect(key="train").set_value(list(names)).run()
    return page


def test_the_button_hands_in_one_job_a_ranker(table):
    page = chosen(opened(train_script), "mart", "setrank-msab")
    train_button(page).click().run()
    handed_in = {job.parameters["ranker"] for job in table.jobs.list("waiting")}
    assert handed_in == {"mart", "setrank-msab"}
    assert table.started
    said = words(page)
    assert "SetRank MSAB small** · waiting" in said
    assert "Train MART small on sample" in said


def test_settings_and_presets_reach_the_job(table):
    page = chosen(opened(train_script, **SETTINGS), "setrank-imsab-init")
    page.button_group(key="preset").set_value("tuned").run()
    page.number_input(key="setrank-imsab-init.tuned.training.epochs").set_value(3).run()
    page.number_input(key="lists.depth").set_value(10).run()
    page.multiselect(key="initial").set_value(["lambdamart@small", "feature:2"]).run()
    train_button(page).click().run()
    (job,) = table.jobs.list()
    assert job.parameters["ranker"] == "setrank-imsab-init@tuned"
    assert job.parameters["changes"] == {"rankings": "2", "epochs": "3"}
    assert job.parameters["lists"] == {"depth": 10, "initial": ["lambdamart@small", "feature:2"]}


def test_a_preset_that_was_tuned_stands_behind_its_ranker_and_is_trained(table):
    tuned = {"trees": 9, "leaves": 5}
    named_presets.save(NamedPreset("lambdamart", "mine", "small", tuned), table.store)
    page = opened(train_script, **SETTINGS)
    offered = page.multiselect(key="train").options
    assert offered[offered.index("LambdaMART") + 1] == "LambdaMART mine"
    chosen(page, "lambdamart@mine")
    assert "**LambdaMART mine**" in words(page)
    assert not [one for one in page.button_group if one.key == "preset"]
    assert page.number_input(key="lambdamart.mine.leaves").value == 5
    chosen(page, "lambdamart@mine", "lambdamart")
    page.button_group(key="preset").set_value("tuned").run()
    page.number_input(key="lambdamart.mine.trees").set_value(3).run()
    train_button(page).click().run()
    given = {job.parameters["ranker"]: job.parameters["changes"] for job in table.jobs.list()}
    assert given == {"lambdamart@mine": {"trees": "3"}, "lambdamart@tuned": None}


def test_trials_of_a_search_stand_neither_in_the_picture_nor_among_recent_work(table):
    lists = {"initial": ("feature:3",), "scores": "in-sample", "depth": 12}
    asked = tuning.Tuning("ranksvm", trials=6)
    preset, _ = run_to_end(tuning.tune(asked, Scope(table.store, "sample", lists)))
    trials = {row["rankers"][0] for row in preset.history[3:]} - set(preset.best["rankers"])
    assert trials
    assert "RankSVM · trial 4" in set(library.table(library.entries(), library.entries())["name"])
    opened(train_script)
    assert len(recent_work.recent_work(20)) == len(preset.history) - len(trials)


def test_an_impossible_value_is_a_sentence_and_the_form_stays(table):
    page = chosen(opened(train_script, **SETTINGS), "setrank-imsab")
    page.number_input(key="setrank-imsab.small.model.heads").set_value(5).run()
    said = words(page)
    assert "heads is '5'; it must be a divisor of the width 32" in said
    assert "Trained on this data set" in said
    assert page.number_input(key="setrank-imsab.small.model.heads").value == 5


def test_running_trainings_show_curves_progress_and_cancel(table):
    table.run(table.train("dlcm"), 4)
    table.train("mart")
    page = opened(train_script)
    said = words(page)
    assert len(page.get("plotly_chart")) == 1
    assert "DLCM is best at epoch 4 with 0.540." in said
    assert "DLCM small** · 4 of at most 30 epochs · 400 lists/s · at most" in said
    cancel = [one for one in page.button if one.label == "Cancel"]
    cancel[-1].click().run()
    assert {job.state for job in table.jobs.list()} == {"running", "cancelled"}


def test_pressing_train_tries_a_failed_one_again(table):
    job = table.train("dlcm")
    table.end(table.run(job, 1), "failed", reason="gone")
    page = chosen(opened(train_script), "dlcm")
    train_button(page).click().run()
    assert table.jobs.get(job.id).state == "waiting"


def test_trained_rankers_stand_with_what_differs(own):
    page = opened(train_script)
    (shown,) = [one.value for one in page.dataframe if "seeds" in one.value]
    assert sorted(shown["ranker"]) == ["DLCM", "SetRank IMSAB + init"]
    assert set(shown["recipe"]) == {"small, steps per epoch 3, epochs 1"}
    assert "lists" not in shown.columns, "all were made alike"
    assert shown["valid"].between(0, 1).all()


def test_seeds_are_one_row_with_their_mean_and_spread():
    made = datetime(2026, 1, 2, tzinfo=UTC)
    row = {"recipe": "small", "lists": "", "epochs": 9, "created": made, "unit": "parameters"}
    trained = pd.DataFrame(
        [
            row | {"ranker": name, "alike": alike, "valid": valid, "seconds": 2.0, "key": key}
            for name, alike, valid, key in [
                ("dlcm", "a", 0.5, "one"), ("mart", "b", 0.3, "two"), ("dlcm", "a", 0.7, "three"),
            ]
        ]
    )  # fmt: skip
    found = runs.table(trained, {"one": 0.4, "three": 0.5}).set_index("ranker")
    assert found["seeds"].to_dict() == {"dlcm": 2, "mart": 1}
    assert found.loc["dlcm", "valid"] == pytest.approx(statistics.mean([0.5, 0.7]))
    assert found.loc["dlcm", "valid_sd"] == pytest.approx(statistics.stdev([0.5, 0.7]))
    assert found.loc["dlcm", "test"] == pytest.approx(0.45)
    assert found.loc["mart", ["valid_sd", "test"]].isna().all()


def test_values_on_the_test_part_are_those_of_the_stored_benchmark(dashboard, tmp_path):
    dashboard(tmp_path)
    found = runs.tested_rankers("sample")
    (study,) = benchmarks.stored_benchmarks("sample").values()
    result = StudyResult.open(study.path)
    means = result.summary(["NDCG@10"]).set_index("ranker")["mean"]
    mine = result.trials.assign(value=result.trials["artefacts"].map(found)).dropna()
    assert {"mart", "dlcm", "setrank-msab"} <= set(mine["ranker"])
    own = mine.groupby("ranker")["value"].mean()
    assert own.to_dict() == pytest.approx(means[own.index].to_dict(), abs=1e-6)
    frame = runs.table(training.trained_rankers(training.fit_size("sample")), found)
    assert frame.loc[(frame["ranker"] == "dlcm"), "test"].notna().any()


def test_what_is_trained_already_is_found_at_once(own):
    page = chosen(opened(train_script, **SETTINGS), "dlcm")
    page.multiselect(key="initial").set_value(["feature:3"]).run()
    page.selectbox(key="lists.scores").set_value("in-sample").run()
    page.number_input(key="dlcm.small.training.epochs").set_value(1).run()
    page.number_input(key="dlcm.small.training.steps_per_epoch").set_value(3).run()
    said = words(page)
    assert "All of these are already trained" in said
    assert "Already trained" in said
    assert train_button(page).disabled


def test_the_key_of_a_plan_is_the_one_that_training_files_under(own, trained_sample):
    _, workbench = trained_sample
    planner = training.planner(training.fit_size("sample"))
    short = {"epochs": "1", "steps_per_epoch": "3"}
    plan = planner.plan_training(workbench.recipe, RankerName.parse("dlcm@small"), short)
    parts = workbench.fold.train.fingerprint, workbench.fold.valid.fingerprint
    made = workbench.recipe.plain()
    assert plan.key == ranker_key(registry.spec("dlcm", "small", **short), made, *parts)
    assert plan.stored
    trees = planner.plan_training(workbench.recipe, RankerName.parse("mart@small"), {})
    assert trees.key == ranker_key(registry.spec("mart", "small"), ALL_DOCUMENTS, *parts)


@pytest.mark.parametrize("name", training.FITTED)
@pytest.mark.parametrize("preset", ["small", "tuned"])
def test_every_ranker_and_preset_can_be_planned(table, name, preset):
    name_at, lists = RankerName.parse(f"{name}@{preset}"), training.usual_lists("sample")
    plan = training.planner(training.fit_size("sample")).plan_training(lists, name_at, {})
    assert plan.seconds is None
    assert not plan.stored
    recipe = registry.spec(name, preset).recipe()
    alike = "paper" if recipe == registry.spec(name, "paper").recipe() else preset
    assert preset_differences.from_preset(recipe) == (alike, {})

"""A search for a recipe: presets first, validation alone, one look at the test part, resumable."""

import json
import shutil
from dataclasses import replace

import pytest

from shuffleproof.core import search_space, tuning
from shuffleproof.core.answers.trained_rankers import trained_on
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data import layout
from shuffleproof.core.data.catalogue import resolve
from shuffleproof.core.data.letor.write import write
from shuffleproof.core.errors import ArtefactError, DivergedError, ParameterError, UsageError
from shuffleproof.core.job_kinds import KINDS
from shuffleproof.core.jobs import jobs_of, submit
from shuffleproof.core.library import entries as library
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers import named_presets, registry
from shuffleproof.core.rankers.linear.fit import RankSVMSpec
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.search_space import space_of
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.benchmark import sections
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.tuning import Tuning, table, tune
from shuffleproof.core.workers import workers_of

LISTS = {"initial": ("feature:3",), "scores": "in-sample", "depth": 12}
ASKED = Tuning("ranksvm", trials=6)


def scope(root):
    return Scope(Store(root), "sample", LISTS)


def without_times(history):
    return [{name: row[name] for name in row if name != "seconds"} for row in history]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    root = tmp_path_factory.mktemp("tuned")
    preset, cached = run_to_end(tune(ASKED, scope(root)))
    assert not cached
    return root, preset


def test_the_presets_come_first_so_the_best_is_never_worse_on_validation(whole):
    root, preset = whole
    assert [row["of"] for row in preset.history] == ["paper", "tuned", "small"] + ["search"] * 3
    assert preset.best["value"] >= max(preset.usual_values.values())
    assert [row["trial"] for row in preset.history] == list(range(1, 7))
    assert named_presets.find(Store(root), "ranksvm", "tuned_sample") == replace(
        preset, history=tuple(preset.history)
    )
    for row in preset.history:
        low, high = preset.asked["search"]["cost"]
        assert low <= row["fields"].get("cost", low) <= high
        assert len(row["rankers"]) == 1


def test_a_search_that_was_stopped_goes_on_and_takes_the_same_steps(whole, tmp_path, monkeypatch):
    _, preset = whole
    fits = []
    real = RankSVMSpec.fit

    def counted(self, *given):
        fits.append(self.cost)
        return real(self, *given)

    looks = []
    look = tuning._looked
    monkeypatch.setattr(RankSVMSpec, "fit", counted)
    monkeypatch.setattr(tuning, "_looked", lambda *given: looks.append(1) or look(*given))
    work = tune(ASKED, scope(tmp_path))
    for progress in work:
        if progress.done == 4 and not progress.values:
            work.close()  # as a kill: four trials are stored, the fifth had begun
    before = len(fits)
    assert (before, looks) == (5, [])
    again, _ = run_to_end(tune(ASKED, scope(tmp_path)))
    assert len(fits) == before + 2  # the fifth again, and the sixth
    assert without_times(again.history) == without_times(preset.history)
    assert (again.looks, len(looks)) == (1, len(preset.test))
    assert [row["ranker"] for row in again.test] == [
        "ranksvm@paper", "ranksvm@tuned", "ranksvm@small", "ranksvm@tuned_sample",
    ]  # fmt: skip
    with monkeypatch.context() as patched:  # as a read-only store
        patched.setattr(tuning.Search, "study", lambda _: pytest.fail("nothing is new"))
        same, cached = run_to_end(tune(ASKED, scope(tmp_path)))
    assert (cached, same.looks, len(looks)) == (True, 1, len(preset.test))
    more, _ = run_to_end(tune(replace(ASKED, trials=7), scope(tmp_path)))
    assert (more.looks, len(fits)) == (2, before + 3)
    assert without_times(more.history[:6]) == without_times(preset.history)


def test_a_trial_takes_the_seconds_of_its_training_also_where_its_lists_had_made_it(tmp_path):
    lists = LISTS | {"initial": ("ranksvm@paper",)}
    preset, _ = run_to_end(tune(replace(ASKED, trials=4), Scope(Store(tmp_path), "sample", lists)))
    for row in preset.history:
        (key,) = row["rankers"]
        assert row["seconds"] == Store(tmp_path).resolve(key, "ranker").facts["seconds"]


def test_trials_are_no_rankers_to_choose_and_the_best_is_called_by_its_preset(whole, tmp_path):
    root, preset = whole
    store = Store(shutil.copytree(root, tmp_path / "copy"))
    best = preset.history[-1] | {"value": 1.0}
    as_small = preset.history[-1] | {"trial": 7, "rankers": preset.history[2]["rankers"]}
    named_presets.save(replace(preset, history=(*preset.history[:-1], best, as_small)), store)
    (paper,), (tuned,), (small,), (fourth,), (fifth,), (last,) = (
        row["rankers"] for row in preset.history
    )
    fold = resolve("sample", store)
    rankers = trained_on(store, fold.train.fingerprint, fold.valid.fingerprint, "small")
    assert {ranker.key: ranker.label for ranker in rankers if ranker.name == "ranksvm"} == {
        paper: "ranksvm@paper", tuned: "ranksvm@tuned", small: "ranksvm",
        last: "ranksvm@tuned_sample",
    }  # fmt: skip
    names = {str(entry.key): entry.name for entry in library.entries(store)}
    assert [names[key] for key in (small, fourth, fifth, last)] == [
        "ranksvm", "ranksvm · trial 4", "ranksvm · trial 5", "ranksvm@tuned_sample",
    ]  # fmt: skip
    named_presets.know(Store(root))  # as other tests find it


def test_a_tuned_preset_stands_where_a_preset_stands_and_a_benchmark_says_its_trials(whole):
    root, preset = whole
    asked = Benchmark((str(preset), "feature:3"), 1, ("NDCG@10",))
    with pytest.raises(ArtefactError):
        Store(root).resolve("study-")
    found = StudyResult.open(run_to_end(asked.answer(scope(root))).path)
    assert found.facts["trials"] == {"ranksvm@tuned_sample": 6}
    printed = sections.table(found, View(measures=("NDCG@10",), baselines=()))
    assert "ranksvm@tuned_sample (tuned with 6 trials)" in list(printed.frame["ranker"])
    recipe = registry.spec("ranksvm", preset.name).recipe()
    assert recipe == registry.spec("ranksvm", preset.base, **preset.fields).recipe()
    other = registry.spec("ranksvm", preset.name, cost="3.5").recipe()
    assert other == registry.spec("ranksvm", preset.base, cost=3.5).recipe()


ROUNDS = Tuning("mart", ("leaves", "learning_rate"), trials=8, at_once=3)


@pytest.fixture(scope="module")
def rounds(tmp_path_factory):
    """Presets, a round of three, and two of the next, by nobody but this process."""
    preset, _ = run_to_end(tune(ROUNDS, scope(tmp_path_factory.mktemp("rounds"))))
    return without_times(preset.history)


def test_a_search_is_the_same_whoever_works_it(rounds, tmp_path):
    with workers_of(Store(tmp_path), "processes:2"):
        preset, _ = run_to_end(tune(ROUNDS, scope(tmp_path)))
    assert without_times(preset.history) == rounds


def test_time_that_is_up_begins_no_trial_but_takes_what_is_there(tmp_path, monkeypatch):
    seconds = [0.0]
    monkeypatch.setattr(tuning.time, "monotonic", lambda: seconds[0])
    real = tuning.Search.run_trial

    def slow(self, one, trial):
        outcome = yield from real(self, one, trial)
        seconds[0] += 10.0
        return outcome

    monkeypatch.setattr(tuning.Search, "run_trial", slow)
    asked = replace(ASKED, trials=None, budget=45.0)
    reports = []
    some, _ = run_to_end(tune(asked, scope(tmp_path)), reports.append)
    assert some.trials == 5  # three presets, 30 s, then two more
    ends = [one.spent for one in reports if one.unit == "trials" and not one.part and one.values]
    assert ends == pytest.approx([10 / 45, 20 / 45, 30 / 45, 40 / 45, 1.0])
    same, cached = run_to_end(tune(replace(asked, budget=0.0), scope(tmp_path)))
    assert (cached, same.trials) == (True, 5)
    more, _ = run_to_end(tune(replace(asked, budget=5.0), scope(tmp_path)))
    assert more.trials == 6


def test_looks_at_the_test_part_count_under_whatever_name(whole, tmp_path):
    root = shutil.copytree(whole[0], tmp_path / "copy")
    assert whole[1].looks == 1
    two = replace(ASKED, name="two", trials=3)
    assert run_to_end(tune(two, scope(root)))[0].looks == 2
    again = run_to_end(tune(replace(ASKED, trials=7), scope(root)))
    assert again[0].looks == 3
    assert run_to_end(tune(replace(two, name="other", seed=1), scope(root)))[0].looks == 1


def test_a_name_is_one_searchs_own(whole, tmp_path):
    root, _ = whole
    remedy = "choose another --name, .*: `library delete ranksvm@tuned_sample`"
    with pytest.raises(UsageError, match=remedy):
        run_to_end(tune(replace(ASKED, seed=1), scope(root)))
    part = resolve("sample", Store(tmp_path)).test
    write(part, tmp_path / "mine.txt")  # which is read only when the search opens it
    named_presets.save(replace(whole[1], name="tuned_mine_txt"), Store(tmp_path))
    mine = replace(scope(tmp_path), data=str(tmp_path / "mine.txt"))
    with pytest.raises(UsageError, match="something else"):
        run_to_end(tune(ASKED, mine))
    other = replace(ASKED, search=("tolerance=1e-4..1e-2",))
    with pytest.raises(UsageError, match="something else"):
        run_to_end(tune(other, scope(root)))
    with pytest.raises(ParameterError, match="none of paper"):
        Tuning("ranksvm", name="tuned")
    with pytest.raises(UsageError, match="built-in preset"):
        run_to_end(tune(replace(ASKED, ranker="ranksvm@tuned_sample"), scope(root)))


def test_a_damaged_preset_is_told_and_hinders_nobody(tmp_path, capsys):
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "mart@mine.json").write_text("{")
    named_presets.know(Store(tmp_path))
    assert named_presets.of("mart") == {}
    for ask in (
        lambda: named_presets.find(Store(tmp_path), "mart", "mine"),
        lambda: registry.spec("mart", "mine"),
    ):
        with pytest.raises(ArtefactError, match="Remove the file"):
            ask()
    assert main(["library", "verify", "--store", str(tmp_path)]) == 1
    assert "mart@mine.json" in capsys.readouterr().out
    assert main(["library", "delete", "mart@mine.json", "--store", str(tmp_path)]) == 0
    assert not [*(tmp_path / "presets").iterdir()]


def test_a_preset_is_shown_and_deleted_by_name_and_its_rankers_stay(whole, tmp_path, capsys):
    root = tmp_path / "store"
    shutil.copytree(whole[0], root)
    store, preset = Store(root), replace(whole[1], fields={"cost": 0.5})
    named_presets.save(preset, store)
    rankers = {str(artefact.key) for artefact in store.artefacts("ranker")}
    assert named_presets.searched_rankers(store)
    what = ["ranksvm@tuned_sample", "--store", str(root)]
    assert main(["library", "show", *what]) == 0
    said = capsys.readouterr().out
    assert f"ranksvm@{preset.base}" in said
    assert "cost=0.500" in said
    assert main(["library", "show", *what, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["data"], answer["fields"], answer["looks"]) == ("sample", preset.fields, 1)
    named_presets.know(store)
    assert main(["library", "delete", *what]) == 0
    assert "tuned_sample" not in named_presets.of("ranksvm")
    assert not [*(root / "presets").iterdir()]
    assert named_presets.searched_rankers(store) == {}
    assert {str(artefact.key) for artefact in store.artefacts("ranker")} == rankers
    for doing in ("show", "delete"):
        assert main(["library", doing, *what]) == 1
        assert "no stored artefact" in capsys.readouterr().err
    named_presets.know(Store(whole[0]))  # as other tests find it


def test_a_name_that_was_given_to_an_artefact_means_that_one(whole, tmp_path):
    root = tmp_path / "store"
    shutil.copytree(whole[0], root)
    store = Store(root)
    key = next(store.artefacts("ranker")).key
    store.set_name("ranksvm@tuned_sample", key)
    line = ["library", "delete", "ranksvm@tuned_sample", "--with-dependents", "--store", str(root)]
    assert main(line) == 0
    assert store.find(key) is None
    assert named_presets.find(store, "ranksvm", "tuned_sample") == whole[1]


class Stops:
    """Optuna's trial, which stops at a step."""

    def __init__(self, at, known=()):
        self.at, self.told, self.number, self.study = at, [], 0, self
        self.intermediate_values = dict(known)

    def get_trials(self, **_):
        return [self]

    def report(self, value, step):
        self.told.append((step, value))

    def should_prune(self):
        return len(self.told) >= self.at


def training(epochs, ended):
    try:
        for epoch in range(1, epochs + 1):
            yield Progress(epoch - 1, epochs, "epochs", part=0.5)
            yield Progress(epoch, epochs, "epochs", {"valid": epoch / 100})
    finally:
        ended.append(epoch)
    return "a ranker"


def test_a_training_is_stopped_at_the_epoch_where_it_is_told_to():
    for at, result, last in ((3, None, 3), (99, "a ranker", 6)):
        ended, trial = [], Stops(at)
        assert run_to_end(tuning._watched(training(6, ended), trial)) == result
        assert ended == [last]
        assert trial.told == [(epoch, epoch / 100) for epoch in range(1, last + 1)]
    assert run_to_end(tuning._watched(training(2, []), None)) == "a ranker"
    resumed = Stops(99, {3: 0.03, 4: 0.04})
    run_to_end(tuning._watched(training(6, []), resumed))
    assert [step for step, _ in resumed.told] == [1, 2, 5, 6], "no step is reported twice"


@pytest.mark.parametrize(("at", "kept"), [(2, 0), (None, 1)])
def test_a_training_that_a_search_stops_leaves_no_checkpoint(tmp_path, at, kept):
    """One that somebody else stops goes on when it is asked for again."""
    workbench = run_to_end(scope(tmp_path).open_workbench())
    work = workbench.train(RankerName.parse("ranknet@small"), {"epochs": "5"})
    work = tuning._watched(work, Stops(at or 99))
    for progress in work:
        if at is None and progress.done == 2 and progress.values:
            work.close()
    assert len([*(tmp_path / "workspaces").iterdir()]) == kept


def test_trials_that_diverge_are_kept_as_failed_and_the_search_goes_on(tmp_path, monkeypatch):
    real = RankSVMSpec.fit

    def diverging(self, *given):
        if self.cost != 200.0:
            raise DivergedError("ranksvm", 1, 0.1)
        return real(self, *given)

    monkeypatch.setattr(RankSVMSpec, "fit", diverging)
    preset, _ = run_to_end(tune(ASKED, scope(tmp_path)))
    states = {row["state"] for row in preset.history}
    assert states == {"done", "failed"}
    assert preset.best["of"] in {"paper", "tuned"}


@pytest.mark.parametrize(
    ("field", "found"),
    [
        ("leaves=8..16", {"leaves": (8, 16)}),
        ("learning_rate=1e-3..1", {"learning_rate": (0.001, 1.0)}),
        ("row_order=canonical,file", {"row_order": ("canonical", "file")}),
        ("leaves", {"leaves": (4, 128)}),
        ("row_order", {"row_order": ("canonical", "file")}),
        ("leaves=64,8,64", {"leaves": (64, 8)}),
        ("patience=none,9", {"patience": (None, 9)}),
    ],
)
def test_ranges_are_read_and_bounded(field, found):
    assert space_of(RankerName.parse("mart@paper"), [field]) == found


@pytest.mark.parametrize("search", ["normalisation=none,log1p-z", "steps=5,50"])
def test_presets_may_lie_outside_what_is_searched_and_choices_are_no_range(tmp_path, search):
    """`paper` has z-score and 30 steps, which Optuna cannot be told."""
    preset, _ = run_to_end(tune(Tuning("ranksvm", (search,), trials=7), scope(tmp_path)))
    field, _, choices = search.partition("=")
    drawn = {str(row["fields"][field]) for row in preset.history if row["of"] == "search"}
    assert drawn <= set(choices.split(","))
    assert preset.asked.get("choices", []) == (["steps"] if field == "steps" else [])


def test_what_has_no_logarithm_lies_outside_a_range_of_them():
    declared = search_space.fields_with_values(registry.spec("mart", "paper"))["l2"][0]
    drawn = search_space.distribution_of(declared, (0.1, 10.0))
    assert [search_space.can_draw(drawn, value) for value in (0.0, None, 0.05, 0.1)] == [
        False, False, False, True
    ]  # fmt: skip


@pytest.mark.parametrize(
    "field", ["patience", "leaves=8", "leaves=a..b", "row_order=x,y", "seed", "patience=none..9"]
)
def test_what_is_no_range_is_refused(field):
    with pytest.raises(ParameterError):
        space_of(RankerName.parse("mart@paper"), [field])


def test_every_declared_range_lies_within_its_bounds_and_every_trained_ranker_has_one():
    for name, entry in registry.RANKERS.items():
        if not entry.learns:
            continue
        for preset in entry.presets:
            ranker = RankerName.parse(f"{name}@{preset}")
            declared = search_space.fields_with_values(registry.spec_of(ranker))
            for field, (low, high) in space_of(ranker).items():
                for end in (low, high):
                    registry.spec_of(ranker, **{field: end})
                assert low < high
                assert search_space.distribution_of(declared[field][0], (low, high))


@pytest.mark.parametrize("line", [
    "list recipe ranksvm@tuned_sample",
    "train ranksvm@tuned_sample --dry-run",
    "certify ranksvm@tuned_sample --queries 2 --permutations 1",
])  # fmt: skip
def test_commands_know_the_preset_that_another_process_tuned(whole, tmp_path, line, capsys):
    root, _ = whole
    named_presets.know(Store(tmp_path))  # as in a new process: nothing is known
    assert main([*line.split(), "--store", str(root)]) == 0, capsys.readouterr().err
    assert main(["list", "recipe", "ranksvm@tuned_smple", "--store", str(root)]) == 2
    assert "did you mean tuned_sample?" in capsys.readouterr().err
    named_presets.know(Store(root))  # as other tests find it


def test_a_search_is_a_job_that_reports_every_trial(whole, tmp_path):
    _, preset = whole
    given = {"ranker": "ranksvm", "data": "sample", "trials": 6, "lists": LISTS}
    reports = []
    result = run_to_end(KINDS["tune"](Store(tmp_path), **given), reports.append)
    assert result["preset"] == "ranksvm@tuned_sample"
    assert result["trials"] == 6
    assert result["valid"] == {"NDCG@10": preset.best["value"]}
    assert Store(tmp_path).resolve(result["artefact"], "ranker")
    ends = [one for one in reports if one.unit == "trials" and not one.part and one.values]
    assert [one.done for one in ends] == [1, 2, 3, 4, 5, 6]
    frame = table(preset)
    assert list(frame.columns) == ["trial", "of", "state", "valid", "seconds", "cost"]
    for one, row in zip(ends, frame.to_dict("records"), strict=True):
        assert (one.values["valid"], one.values["cost"]) == (row["valid"], row["cost"])
        assert one.values["best"] == frame["valid"][: one.done].max()
    assert list(frame["cost"][:3]) == [
        registry.spec("ranksvm", name).cost for name in ("paper", "tuned", "small")
    ]


@pytest.mark.parametrize(
    "given",
    [{"ranker": "dlcm#1234"}, {"ranker": "ranksvm", "search": ["depth"]},
     {"ranker": "ranksvm", "trials": 0}, {"ranker": "ranksvm", "name": "paper"}],
)  # fmt: skip
def test_a_search_that_cannot_be_made_is_no_job(tmp_path, given):
    with pytest.raises(UsageError):
        submit(Store(tmp_path), "tune", {"data": "sample"} | given)
    assert jobs_of(Store(tmp_path)).list() == ()


def test_a_job_over_folds_opens_the_folds_that_its_name_meant(tmp_path, monkeypatch):
    opened, names = [], ["two-fold1", "two-fold2"]
    monkeypatch.setattr(layout, "folds_of", lambda *_: names)

    def first(self, *_):
        opened.append((self.data, self.pinned))
        if len(opened) == 2:
            raise UsageError("both were opened")
        return "a workbench"
        yield

    monkeypatch.setattr(Scope, "open_workbench", first)
    both = Scope(Store(tmp_path), "two", LISTS, "small", "data-1,data-2")
    with pytest.raises(UsageError, match="both were opened"):
        run_to_end(tune(ASKED, both))
    assert opened == [("two-fold1", "data-1"), ("two-fold2", "data-2")]

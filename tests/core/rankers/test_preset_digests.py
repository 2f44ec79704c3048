"""A preset that changes takes the keys of all lists made with it along; today's keys stay."""

import inspect
import json

import pytest

from shuffleproof.app import training
from shuffleproof.core.aggregate.disturbances import DISTURBANCES
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data.catalogue import ingest, resolve
from shuffleproof.core.errors import ShuffleproofError, UsageError
from shuffleproof.core.experiment import list_sources
from shuffleproof.core.job_kinds import KINDS
from shuffleproof.core.library import entries as library
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.perturb.search import Search
from shuffleproof.core.rankers import preset_digests, registry
from shuffleproof.core.rankers.boosting import trees
from shuffleproof.core.rankers.initial import ListRecipe, initial_spec
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.preset_digests import PRESETS
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.workbench import Workbench, run_to_end
from tests import places
from tests.core.library.test_library import LETOR

LISTS = ListRecipe(("mart@small",), depth=5, scores="in-sample")
DLCM = RankerName.parse("dlcm")

OTHER = {"trees": 7, "leaves": 8}


def test_names_of_today_stand_in_keys_as_they_are():
    """Every preset whose recipe is in the table has the digest of the table, or its mark."""
    for name, digests in preset_digests.FIRST.items():
        for preset, digest in zip(preset_digests.PRESETS, digests, strict=True):
            own = preset_digests.digest_of(registry.spec(name, preset))
            text = f"{name}@{preset}"
            marked = preset_digests.with_digest(RankerName.parse(text))
            assert str(marked) == (text if own == digest else f"{text}~{own}")
    assert ListRecipe().of_today() == ListRecipe()
    for text in ("feature:3", "file-order", "random", "ideal"):
        assert str(preset_digests.with_digest(RankerName.parse(text))) == text


def bench_of(store):
    return run_to_end(Workbench.open("mine", LISTS, store, "small"))


@pytest.fixture
def changed(monkeypatch):
    """The preset is another recipe from now on."""

    def change():
        monkeypatch.setitem(trees.LambdaMARTSpec.presets, "small", OTHER)
        return preset_digests.digest_of(registry.spec("mart", "small"))

    return change


def test_a_changed_preset_makes_other_lists_and_old_networks_are_stale(tmp_path, capsys, changed):
    (tmp_path / "set.txt").write_text(LETOR)
    store = Store(tmp_path / "store")
    run_to_end(ingest(tmp_path / "set.txt", "mine", store))
    before = bench_of(store)
    assert before.recipe == LISTS
    old = run_to_end(before.train(DLCM, {"epochs": "1"}))
    assert run_to_end(before.train(DLCM, {"epochs": "1"})).cached
    assert not [entry for entry in library.entries(store) if entry.stale]
    digest = changed()
    after = bench_of(store)
    assert after.recipe.initial == (f"mart@small~{digest}",)
    new = run_to_end(after.train(DLCM, {"epochs": "1"}))
    assert not new.cached
    assert new.artefact.key != old.artefact.key
    found = {entry.key: entry for entry in library.entries(store)}
    assert "another recipe today" in found[old.artefact.key].stale
    assert found[new.artefact.key].stale == ""
    capsys.readouterr()
    assert main(["library", "list", "--store", str(store.root)]) == 0
    said = capsys.readouterr().out.partition("Stale; ")[2]
    assert str(old.artefact.key) in said
    assert str(new.artefact.key) not in said
    assert (
        main(["library", "show", str(old.artefact.key), "--store", str(store.root), "--json"]) == 0
    )
    assert "mart@small" in json.loads(capsys.readouterr().out)["stale"]
    fold = resolve("mine", store)
    with pytest.raises(UsageError, match="another recipe today"):
        finished_lists(fold, LISTS, store)
    assert len(finished_lists(fold, after.recipe, store).lists) > 0


def finished_lists(fold, recipe, store):
    return list_sources.prepare_lists("mine", fold, recipe, store).test


def test_pages_look_for_networks_on_the_lists_of_today(monkeypatch):
    monkeypatch.setattr(training, "preset_of", lambda _data: "small")
    plain = training.usual_lists("mine").initial
    assert plain == ("lambdamart@small",)
    monkeypatch.setitem(trees.LambdaMARTSpec.presets, "small", OTHER)
    assert training.usual_lists("mine").initial == (
        f"lambdamart@small~{preset_digests.digest_of(registry.spec('lambdamart', 'small'))}",
    )


def test_a_name_with_another_digest_is_refused():
    with pytest.raises(ShuffleproofError, match="another recipe"):
        initial_spec(RankerName.parse("lambdamart@small~000000000000"))
    today = registry.spec("lambdamart", "small")
    name = RankerName.parse(f"lambdamart@small~{preset_digests.digest_of(today)}")
    assert initial_spec(name) == today


def asked_by_name():
    """The keys of what is asked for by its name alone: presets, jobs, levels, searches."""
    rankers = [name for name, entry in registry.RANKERS.items() if entry.learns]
    return {
        "rankers": {
            name: [preset_digests.digest_of(registry.spec(name, one)) for one in PRESETS]
            for name in rankers
        },
        "jobs": {
            kind: digest_of_defaults(inspect.signature(work))
            for kind, work in KINDS.items()
            if kind not in STUDIES  # theirs stand in `tests/golden`
        },
        "levels": {
            family: key_of("levels", {"levels": entry.default_levels}).digest[:12]
            for family, entry in PERTURBATIONS.items()
        },
        "disturbances": {name: list(entry.levels) for name, entry in DISTURBANCES.items()},
        "search": key_of("search", Search().plain()).digest[:12],
    }


def digest_of_defaults(signature):
    values = {name: one.default for name, one in signature.parameters.items()}
    return key_of(
        "job", {n: v for n, v in values.items() if v is not inspect.Parameter.empty}
    ).digest[:12]


def test_what_is_asked_for_by_its_name_alone_keeps_its_key():
    """Another default makes strangers of stored results.

    Where one is changed on purpose, its new digest goes into the file, and a line into the
    changelog.
    """
    expected = json.loads((places.TESTS / "keys_of_today.json").read_text())
    for kind, found in asked_by_name().items():
        assert found == expected[kind]


def test_only_what_is_fitted_is_marked_and_only_once(changed):
    digest = changed()
    names = map(RankerName.parse, ("mart@small", "mart@small~0123", "feature:3"))
    marked = [str(preset_digests.with_digest(name)) for name in names]
    assert marked == [f"mart@small~{digest}", "mart@small~0123", "feature:3"]

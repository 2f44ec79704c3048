"""Paper against released code: which variants there are, what is measured, what the table says."""

from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import MissingRankingError, UsageError
from shuffleproof.core.metrics.significance import holm
from shuffleproof.core.models.config import SetRankConfig
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import conventions, tables
from shuffleproof.core.studies.kinds.ablation import sections
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.kinds.ablation.question import Ablation
from shuffleproof.core.studies.kinds.ablation.sources import (
    ONLY_IMSAB,
    ONLY_ORDINALS,
    SOURCES,
    STEPS,
    differences,
)
from shuffleproof.core.studies.paired_differences import PAPER_FAMILY
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.workbench import Workbench, run_to_end

NETS = [
    name for name in FIXED if {"paper", *Ablation.towards} <= set(registry.RANKERS[name].presets)
]
RECIPE = ListRecipe(("feature:3",), depth=8, scores="in-sample")


def flat(spec):
    return asdict(spec.model) | asdict(spec.training)


@pytest.mark.parametrize("ranker", NETS)
@pytest.mark.parametrize("other", Ablation.towards)
def test_all_steps_together_lead_from_one_recipe_to_the_other(ranker, other):
    start, end = NeuralSpec.preset(ranker, "paper"), NeuralSpec.preset(ranker, other)
    steps = differences(start, end)
    reached = start.with_fields(
        {name: value for one in steps for name, value in one.values.items()}
    )
    of = {field: step for step, fields in STEPS.items() for field in fields}
    for name, value in flat(end).items():
        if flat(reached)[name] != value:  # only fields that have no effect on this ranker
            assert of[name] in ONLY_ORDINALS | ONLY_IMSAB
    for one in steps:
        changed = start.with_fields(one.values)
        assert changed != start
        assert one.source
        assert {name for name in flat(start) if flat(changed)[name] != flat(start)[name]} == set(
            one.values
        )


@pytest.mark.parametrize("ranker", NETS)
def test_no_two_variants_are_the_same_and_each_says_whence_it_comes(ranker):
    made = ablation.variants(Ablation(ranker, "small"))
    assert [one.label for one in made[:3]] == ["paper", "released", "tuned"]
    specs = [one.spec for one in made]
    assert len({str(spec.recipe()) for spec in specs}) == len(specs)
    for one in made[3:]:
        assert one.label.startswith("paper + ")
        assert one.source
        assert one.towards in Ablation.towards
    assert {one.sizes for one in made} == {"small"}
    small = NeuralSpec.preset(ranker, "small")
    if isinstance(small.model, SetRankConfig):
        assert {(one.spec.model.width, one.spec.model.depth) for one in made} == {
            (small.model.width, small.model.depth)
        }
    assert {one.spec.training.epochs for one in made} == {small.training.epochs}


def test_what_dlcms_paper_compares_are_single_steps_too():
    made = ablation.variants(Ablation("dlcm", "small", ("claims",)))
    assert [one.label for one in made] == [
        "paper", "paper + direction highest-first", "paper + two directions on",
        "paper + cell lstm", "paper + loss list-mle", "paper + loss softrank",
    ]  # fmt: skip
    assert "worse" in made[1].source
    listmle = [
        one.label for one in ablation.variants(Ablation("dlcm-listmle", "small", ("claims",)))
    ]
    assert not any("loss" in label for label in listmle), "its name says the loss"


def test_claims_of_a_paper_that_compares_nothing_are_refused_before_anything_is_read(capsys):
    asked = ["study", "ablation", "--ranker", "setrank-imsab", "--data", "no-such-set"]
    assert main([*asked, "--towards", "claims"]) == 2
    said = capsys.readouterr().err
    assert "setrank-imsab's paper compares nothing" in said
    assert "dlcm, dlcm-without-init" in said
    for towards in (("released", "claims"), (), ("paper",)):
        with pytest.raises(UsageError):
            ablation.variants(Ablation("ranknet", "small", towards))


@pytest.mark.parametrize("ranker", NETS)
def test_every_field_of_a_recipe_is_in_a_single_step_or_fixed(ranker):
    assert STEPS.keys() >= set().union(*SOURCES.values())
    steps = [field for fields in STEPS.values() for field in fields]
    assert len(steps) == len(set(steps))
    assert set(flat(NeuralSpec.preset(ranker))) - set(steps) <= {"seed", "block", "rankings"}


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("ablation"))
    return run_to_end(Workbench.open("sample", RECIPE, store))


def measured(workbench, made):
    """An ablation of these variants alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ablation, "variants", lambda _asked: made)
        return (yield from Ablation(levels=(3.0,), draws=2).run(workbench))


@pytest.fixture(scope="module")
def few():
    """Three variants that are trained in two steps each."""
    made = ablation.variants(Ablation("setrank-msab-init", "small", ("released",)))
    chosen = [made[0], made[1], next(one for one in made if "loss" in one.label)]
    short = {"epochs": 1, "steps_per_epoch": 2}
    return [replace(one, spec=one.spec.with_fields(short)) for one in chosen]


@pytest.fixture(scope="module")
def stored(workbench, few):
    return run_to_end(measured(workbench, few))


def test_every_variant_is_measured_unperturbed_and_perturbed(stored, few):
    result = StudyResult.open(stored.path)
    counts = result.trials.groupby(["ranker", "level"]).size().to_dict()
    assert counts == {(one.label, level): 1 + (level > 0) for one in few for level in (0.0, 3.0)}
    facts = result.facts
    assert (facts["sizes"], facts["towards"], facts["ranker"]) == (
        "small", ["released"], "setrank-msab-init",
    )  # fmt: skip
    assert set(facts["training_seconds"]) == {one.label for one in few}
    kernels = facts["parameters"]["released"] - facts["parameters"]["paper"]
    assert kernels > 0  # Gaussian kernels have parameters of their own
    assert facts["parameters"]["paper"] == facts["parameters"]["paper + loss softmax-ce"]


def test_lists_without_enough_rankings_are_refused(workbench):
    made = ablation.variants(Ablation("setrank-msab-init", "small", ("released",)))[:1]
    hungry = [replace(made[0], spec=made[0].spec.with_fields({"rankings": 4}))]
    with pytest.raises(MissingRankingError):
        run_to_end(measured(workbench, hungry))


@pytest.fixture(scope="module")
def result():
    """Three variants on forty queries, two levels, two draws: values drawn, facts by hand."""
    rng = np.random.default_rng(3)
    stored = conventions.stored_measures([ablation.MEASURE])
    effects = {"paper": (0.6, 0.2), "released": (0.5, 0.2), "paper + loss softmax-ce": (0.6, 0.35)}
    rows, values = [], []
    base = rng.uniform(0, 0.2, size=40)
    for label, (mean, fall) in effects.items():
        own = base + rng.normal(0, 0.02, size=40)
        for level, draw in ((0.0, 0), (20.0, 0), (20.0, 1)):
            rows.append({"ranker": label, "family": PAPER_FAMILY, "level": level, "draw": draw,
                         "tau": 1.0, "set_size": 8.0, "seconds": 0.1})  # fmt: skip
            lost = (level > 0) * (fall + rng.normal(0, 0.02, size=40))
            one = (mean + own - lost).astype(np.float32)
            one[:3] = np.nan  # queries without relevant documents
            values.append(np.tile(one, (len(stored), 1)))
    facts = {
        "training_seconds": {"paper": 3.0, "released": 4.0},
        "parameters": dict.fromkeys(effects, 10),
        "sources": {"paper": "", "released": "", "paper + loss softmax-ce": "why"},
        "queries": 40,
    }
    recipe = {"measures": [ablation.MEASURE], "stored": list(stored), "kind": Ablation.kind}
    ids = tuple(map(str, range(40)))
    return StudyResult(recipe, pd.DataFrame(rows), np.stack(values), ids, facts)


def test_the_table_is_the_hand_formula(result):
    frame = sections.table(result).set_index("variant")
    assert list(frame.reset_index().columns) == tables.keys(sections.COLUMNS)
    start, lost = {}, {}
    for label in frame.index:
        rows = result.trials.index[result.trials.ranker == label]
        filled = np.nan_to_num(result.values[rows, 0].astype(np.float64))
        start[label] = filled[0]
        lost[label] = filled[0] - filled[1:].mean(axis=0)
    p = {"change": [], "loss": []}
    for label, row in frame.iterrows():
        assert row["mean"] == pytest.approx(start[label].mean(), abs=1e-6)
        assert row["loss"] == pytest.approx(lost[label].mean(), abs=1e-6)
        assert row["change"] == pytest.approx((start[label] - start["paper"]).mean(), abs=1e-6)
        assert row["loss_change"] == pytest.approx((lost[label] - lost["paper"]).mean(), abs=1e-6)
        assert row["change_low"] <= row["change"] <= row["change_high"]
        assert row["loss_low"] <= row["loss_change"] <= row["loss_high"]
        if label != "paper":
            p["change"].append(stats.ttest_rel(start[label], start["paper"]).pvalue)
            p["loss"].append(stats.ttest_rel(lost[label], lost["paper"]).pvalue)
    for name, raw in p.items():
        found = frame[f"{name}_p"].to_numpy()
        assert np.isnan(found[0])
        np.testing.assert_allclose(found[1:], holm(np.array(raw)), rtol=1e-3)
    assert frame.seconds["paper"] == 3.0
    assert np.isnan(frame.seconds["paper + loss softmax-ce"])


def test_an_unfinished_variant_is_left_out(result):
    last = (result.trials.ranker != "released") | (result.trials.level == 0)
    cut = replace(
        result, trials=result.trials[last].reset_index(drop=True), values=result.values[last]
    )
    assert list(sections.table(cut).variant) == ["paper", "paper + loss softmax-ce"]


def test_an_undefined_convention_is_said(result):
    skipped = sections.table(result, "NDCG(empty=skip)@10").set_index("variant")
    zero = sections.table(result).set_index("variant")
    assert skipped["mean"]["paper"] == pytest.approx(zero["mean"]["paper"] * 40 / 37, rel=1e-5)


def test_the_telling_variant_is_the_largest_single_difference(result):
    assert sections.most_changed(sections.table(result)) == "paper + loss softmax-ce"
    whole = sections.table(result).iloc[:2]
    assert sections.most_changed(whole) == "released"

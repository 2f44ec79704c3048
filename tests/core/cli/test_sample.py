"""What sample_data ships: whole, small, and saying what the theorem says."""

import re
import shutil

import numpy as np
import pytest

from shuffleproof.app.report import report
from shuffleproof.core.library.entries import trials_of
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.invariance import study as invariance
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import StudyResult, stored_summary
from shuffleproof.core.studies.workbench import Workbench, run_to_end
from tests import places

HERE = places.ROOT
TRAINED = re.compile(r"ranker-[0-9a-f]{16}")
FAMILY, MEASURE = "transpositions", "NDCG@10"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("own"), (HERE / "sample_data",))


def study(store, kind):
    found = [one for one in store.artefacts("study") if one.recipe["kind"] == kind]
    assert len(found) == 1, f"`make sample` stores the {kind} that ships"
    return found[0]


def test_every_shipped_artefact_is_whole_and_small(store):
    artefacts = list(store.artefacts())
    assert {artefact.key.kind for artefact in artefacts} >= {"ranker", "study"}
    for artefact in artefacts:
        store.verify(artefact)
    files = [path for path in (HERE / "sample_data").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 12 * 2**20


@pytest.mark.parametrize("kind", STUDIES)
def test_of_every_kind_of_study_one_is_shipped_that_answers_what_is_asked(store, kind):
    """With the rankers that it names, so that a click on a point scores a list."""
    made = study(store, kind)
    assert STUDIES[kind].of(made.recipe, made.facts) == STUDIES[kind](**STUDIES[kind].sample)
    assert len(StudyResult.open(made.path).values)
    rankers = [artefact.key for artefact in store.artefacts("ranker")]
    trained = set(TRAINED.findall((made.path / "trials.json").read_text()))
    assert trials_of(made).rankers == trained <= set(map(str, rankers))
    named = {digest for label, digest in made.recipe.get("rankers", ()) if label != INITIAL}
    assert named <= {key.digest for key in rankers}


def test_set_rankers_without_ordinals_are_exactly_flat_and_the_others_fall(store):
    summary = stored_summary(study(store, "initial-ranking").path)
    chosen = summary[(summary.family == FAMILY) & (summary.measure == MEASURE)]
    curve = {label: group["mean"].to_numpy() for label, group in chosen.groupby("ranker")}
    for flat in ("setrank-imsab", "setrank-msab", "lambdamart"):
        assert np.ptp(curve[flat]) == 0
    for falling in ("dlcm", "setrank-imsab-init", "setrank-msab-init", INITIAL):
        assert curve[falling][0] > curve[falling][-1]
    assert curve["setrank-imsab"][0] > curve["lambdamart"][0] + 0.1


def test_flat_lines_were_carried_after_real_permutations(store):
    trials = StudyResult.open(study(store, "initial-ranking").path).trials
    flat = trials[trials.ranker.isin(["setrank-imsab", "setrank-msab"])]
    assert flat.carried.all()
    assert (flat.proof_deviation < 1e-5).all()
    assert not trials[trials.ranker == "dlcm"].carried.any()


def test_certificates(store):
    artefact = study(store, "invariance")
    cards = invariance.certificates(StudyResult.open(artefact.path))
    verdicts = {card.ranker: card.invariant for card in cards}
    assert not verdicts.pop("dlcm")
    assert not verdicts.pop("dlcm-without-init")
    assert all(verdicts.values())
    assert {"setrank-msab-init", "setrank-imsab-init", "lambdamart"} <= set(verdicts)


def test_the_workbench_finds_what_is_shipped_without_training(store):
    """Opening the sample as a user does finds the lists' scores, the rankers and both studies."""
    workbench = run_to_end(Workbench.open("sample", store=store))
    for name in ("lambdamart", "dlcm", "setrank-imsab-init"):
        found = run_to_end(workbench.train(RankerName.parse(name)))
        assert found.cached
        assert found.artefact.path.is_relative_to(HERE / "sample_data")
        scores = found.ranker.score(workbench.prepared.test.dataset, workbench.prepared.test.lists)
        assert np.isfinite(scores).all()
    assert {one.key.kind for one in Store(store.root).artefacts()} <= {"data"}


@pytest.mark.browser
@pytest.mark.parametrize(
    "order", [("initial-ranking", "invariance"), ("invariance", "initial-ranking")]
)
def test_the_report_draws_its_figures_without_any_other_file(store, tmp_path, order):
    """In a real browser, whatever study comes first (the figure once had no library behind it)."""
    chromium = shutil.which("chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    if chromium is None:
        pytest.skip("no chromium on this machine")
    page_file = tmp_path / "report.html"
    page_file.write_text(report([study(store, kind).path for kind in order]), encoding="utf-8")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        asked, failed = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: failed.append(str(error)))
        page.goto(page_file.as_uri())
        assert page.locator(".js-plotly-plot .main-svg").count() > 0
        assert not failed
        assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)
        browser.close()


def test_one_question_has_one_number_in_every_shipped_study(store):
    """Figure 3, the card and the study of perturbations share rankers, lists and levels."""
    keys = ["ranker", "family", "level", "measure"]
    kinds = ("initial-ranking", "card", "perturbations")
    figure, card, every = (
        StudyResult.open(study(store, kind).path).summary().set_index(keys)["mean"]
        for kind in kinds
    )
    for one, other in ((figure, card), (figure, every), (card, every)):
        shared = one.index.intersection(other.index)
        assert len(shared) >= 12
        assert (one[shared] == other[shared]).all()

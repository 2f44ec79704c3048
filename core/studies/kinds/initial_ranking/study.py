"""Figure 3 of SetRank: effect of a worse initial ranking on each ranker.

The lists' prior ranks, and the input order of order-dependent rankers, are perturbed at rising
levels; every ranker scores the same perturbed lists. The initial ranking itself is one curve.
"""

from collections.abc import Generator

from shuffleproof.core.experiment.precomputed_scores import is_as_is, refuse
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import conventions
from shuffleproof.core.studies.kinds.initial_ranking.question import InitialRanking
from shuffleproof.core.studies.run import measured_by
from shuffleproof.core.studies.study import Study
from shuffleproof.core.studies.workbench import Workbench, digests_of, with_initial


def run(workbench: Workbench, question: InitialRanking) -> Generator[Progress, None, Artefact]:
    """Train missing rankers, perturb the initial ranking, measure every ranker.

    Raises:
        FixedScoresError: scores in a file, with a perturbation that changes the lists.
    """
    if not all(is_as_is(*pair) for pair in question.perturbations):
        refuse(question.rankers)
    entered = with_initial((yield from workbench.identified_all(question.rankers)))
    texts = tuple(str(Measure.parse(text)) for text in question.measures)
    study = Study(
        kind=question.kind,
        rankers=digests_of(entered),
        lists=workbench.lists_digest,
        initial=workbench.recipe.initial,
        perturbations=question.perturbations,
        measures=texts,
        draws=question.draws,
        seed=question.seed,
        stored=conventions.stored_measures(texts),
    )
    step = measured_by([Measure.parse(text) for text in study.stored_measures])
    return (yield from workbench.perturb(study, entered, step))

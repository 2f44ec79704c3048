"""Attacks on certificates: `python -m tests.soak.certificates 10000` must find none broken.

Small networks that were never trained (their answers follow the company most) score planted lists.
Every list is attacked by documents of the data, random documents and gradient steps. All lists with
added documents count, not the most harmful ones alone.
"""

import sys

import numpy as np

from shuffleproof.core.data.features import fit
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.metrics.injection import Bounds
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.combining import SubsetOptions
from shuffleproof.core.rankers.ensemble.subset import SubsetRanker
from shuffleproof.core.rankers.neural.ranker import NeuralRanker
from shuffleproof.core.studies.kinds.certified_top_k import changed_lists
from shuffleproof.core.studies.kinds.certified_top_k.changed_lists import Attack, ListOfOne, margins
from tests.synthetic import planted

NAMES = ("setrank-imsab", "setrank-msab-init", "gsf", "dlcm")
ADDED = (1, 2)


def attacked_lists(seed, wanted):
    """(attacked lists, broken certificates, documents pushed out), until enough were attacked."""
    attacked = broken = pushed = 0
    draws = np.random.default_rng(seed)
    while attacked < wanted:
        dataset = planted((2, 2, 4), seed=int(draws.integers(1 << 30)), documents=8).test
        lists = CandidateLists.ranked_by(dataset, dataset.feature(3)[:, None])
        spec = registry.spec(str(draws.choice(NAMES)), "small", seed=int(draws.integers(1 << 30)))
        member = NeuralRanker.untrained(spec, fit("z-score", dataset), dataset.feature_ids, "cpu")
        ranker = SubsetRanker(member, SubsetOptions(int(draws.choice([2, 3]))))
        for at in range(len(lists)):
            start = ListOfOne.of(JudgedLists(dataset, lists), at)
            found = examined(ranker, start, dataset.features, draws)
            attacked, broken, pushed = np.add((attacked, broken, pushed), found)
    return int(attacked), int(broken), int(pushed)


def examined(ranker, start, pool, draws):
    """The same counts for one list."""
    scores, kept, counts = start.scores(ranker), int(draws.integers(3, 7)), np.zeros(3, int)
    bounds, top = Bounds.exact(scores, ranker.options.size), np.argsort(-scores)[:3]
    tried = []
    original = changed_lists.scores_with_each

    def noted(ranker, before, scores, tries):
        after = original(ranker, before, scores, tries)
        tried.append((len(before) + 1 - len(start), after))
        return after

    changed_lists.scores_with_each = noted
    try:
        Attack(ranker, pool, kept, 8).scores(start, scores, top, ADDED[-1], draws)
    finally:
        changed_lists.scores_with_each = original
    for added, after in tried:
        left = margins(after, top, kept) < 0
        certified = np.array([bounds.is_certified(one, added, kept) for one in top.tolist()])
        counts += len(after), int((left & certified).any(axis=1).sum()), int(left.sum())
    return counts


if __name__ == "__main__":
    attacked, broken, pushed = attacked_lists(0, int(sys.argv[1]))
    sys.stdout.write(f"{attacked} attacked lists, {pushed} documents pushed out, {broken} broken\n")
    sys.exit(broken > 0)

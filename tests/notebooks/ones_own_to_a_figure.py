# %% [markdown]
# # A ranker, a measure and a perturbation of one's own, to a figure for a paper

# %%
import numpy as np

import shuffleproof as sp

sample = sp.open("sample")


# %%
@sp.measure
def good_at_top(labels, cutoff=None):
    """Share of grades 2 and more among the first documents."""
    return float((labels[: cutoff or 5] >= 2).mean())


@sp.perturbation(changes="ranking", levels=(1, 5, 10), unit="places", random=False)
def rotate(ranks, generator, level):
    """The first documents go to the end."""
    return np.roll(np.arange(len(ranks)), -int(level))


@sp.ranker("scaled")
class Scaled:
    """The features that go with the labels, and a little of the rank."""

    def fit(self, train, valid):
        self.weights = train.features.T @ (train.labels - train.labels.mean())

    def score(self, features, ranks):
        return features @ self.weights


# %%
trust = lambda features, ranks: features[:, 2] - 0.5 * ranks[:, 0]  # noqa: E731 (as one writes it)
trusting = sp.ranker("trusting", trust)
trusting

# %%
sample.certify(trusting, permutations=2, queries=20)

# %%
result = sample.initial_ranking(
    [trusting, "python:scaled", "lambdamart"],
    {rotate: [1, 5, 10]},
    measures=[good_at_top, "NDCG@10"],
    draws=1,
)
result

# %%
print(result.finding)

# %%
result.table(1)

# %%
result.figure().layout.width

# %%
result.export("rotate.pdf", size="column")
result.export("rotate.csv", per_query=True)

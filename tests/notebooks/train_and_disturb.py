# %% [markdown]
# # Train a ranker, disturb its input
# How far do rankers follow an initial ranking that gets worse?

# %%
import shuffleproof as sp

sample = sp.open("sample")
sample

# %%
dlcm = sample.train("dlcm", epochs=1, steps_per_epoch=4)
dlcm

# %%
test = sample.lists["test"]
scores = dlcm.score(test)
scores[:5]

# %%
result = sample.initial_ranking(
    [dlcm, "lambdamart"], {"transpositions": [0, 5, 20]}, measures="NDCG@10, AP", draws=2
)
result

# %%
print(result.finding)

# %%
result.table()

# %%
result.summary().query("measure == 'AP'")[["ranker", "level", "mean", "low", "high"]]

# %%
figure = result.figure()
figure.update_layout(title="Transpositions of the initial ranking")
len(figure.data)

# %%
by_query = result.per_query()
worst = by_query[by_query.measure == "NDCG@10"].groupby(["ranker", "level", "query"]).value.mean()
worst.unstack("level").assign(lost=lambda frame: frame[0] - frame[20]).nlargest(3, "lost")

# %%
result.export("figure3.tex")
result.export("values.csv", per_query=True)
print(result.methods.splitlines()[0])

# %%
sample.worst_case(dlcm, budgets=2, draws=2, queries=10)

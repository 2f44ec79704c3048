# %% [markdown]
# # A data set of one's own: read in, certify, benchmark, card

# %%
from pathlib import Path

import numpy as np

import shuffleproof as sp

draw = np.random.default_rng(7)
lines = []
for query in range(60):
    for document in range(12):
        features = draw.normal(size=4)
        grade = int(np.clip(np.round(features[0] + 0.5 * draw.normal()), 0, 2))
        cells = " ".join(f"{at}:{value:.3f}" for at, value in enumerate(features, start=1))
        lines.append(f"{grade} qid:{query} {cells} # d{query}-{document}")
Path("letor.txt").write_text("\n".join(lines) + "\n")

# %%
mine = sp.ingest("letor.txt", "mine", split=(0.5, 0.2, 0.3))
mine

# %%
mine.doctor()[["severity", "message"]].head()

# %%
mine = sp.open("mine", preset="small", initial="feature:1", scores="in-sample")
certificate = mine.certify("ranksvm", permutations=5)
certificate.verdict

# %%
print("\n".join(certificate.details()[:3]))

# %%
table = mine.benchmark("feature:2, ranksvm, mart", seeds=1, measures="NDCG@5, NDCG@10")
table

# %%
table.table()

# %%
table.export("table2.tex", against="feature:2")
print(Path("table2.tex").read_text()[:200])

# %%
card = mine.card("ranksvm, mart", families=["transpositions", "shuffle-shown"], draws=2)
card

# %%
card.table("shuffle-shown").T

# %%
card.figure()
card.export("card.md")
card.command

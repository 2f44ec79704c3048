"""A data set, a benchmark and an ablation of it, as their pages find them in a store."""

import numpy as np
import pandas as pd
from safetensors.numpy import save_file

from shuffleproof.core.data import mapped_file
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies import conventions
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.kinds.ablation.question import Ablation
from shuffleproof.core.studies.kinds.benchmark import rows as benchmark_rows
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.paired_differences import PAPER_FAMILY
from shuffleproof.core.studies.result import StudyResult
from tests.synthetic import planted

DATA = "my_set"
LISTS = ListRecipe(("lambdamart@small",)).plain()
NOISE = {"ideal": 0.0, INITIAL: 1.2, "random": 9.0, "lambdamart": 1.2, "dlcm": 0.6, "gsf": 0.62}
GROUPS = dict(
    zip(NOISE, [benchmark_rows.GROUPS[0]] * 3 + list(benchmark_rows.GROUPS[1:4]), strict=True)
)
SEEDS = {"random": 2, "dlcm": 2, "gsf": 2}


def fold():
    return planted(queries=(4, 4, 40), seed=1, documents=12)


def data_set(store, data):
    """The fold under its name, as an upload leaves it."""
    key = key_of("data", {"made": "for the pages"})
    parts = (data.train, data.valid, data.test)
    facts = {
        "fingerprint": data.fingerprint,
        "queries": sum(part.queries for part in parts),
        "documents": sum(part.documents for part in parts),
        "features": len(data.train.feature_ids),
    }
    artefact = store.add(key, {}, lambda place: mapped_file.save_fold(data, place), facts)
    store.set_name(DATA, key)
    return artefact


def lists_of(data):
    noise = generator(0, "prior").normal(size=data.test.documents)
    scores = (data.test.labels + noise).astype(np.float32)[:, None]
    return JudgedLists(data.test, CandidateLists.ranked_by(data.test, scores))


def plan():
    rows = tuple(
        benchmark_rows.Row(label, {"name": label}, GROUPS[label], SEEDS.get(label, 1))
        for label in NOISE
    )
    asked = ("NDCG@5", "NDCG@10")
    return benchmark.Plan(rows, ((DATA, "d" * 64),), asked, conventions.stored_measures(asked))


def cells_of(made, judged):
    """Every cell's facts and arrays: labels under more or less noise."""
    found = {}
    measures = [Measure.parse(text) for text in made.stored]
    labels = judged.dataset.labels[judged.lists.rows]
    for cell in made.cells():
        noise = generator(cell.row.draw, cell.row.ranker).normal(size=len(labels))
        scores = (labels + NOISE[cell.row.ranker] * noise).astype(np.float32)
        values = evaluate(measures, judged.dataset, judged.lists, scores)
        facts = {"queries": len(judged.lists), "set_size": 12.0, "artefact": "", "seconds": 0.1}
        found[cell.digest] = (facts, {"values": values, "scores": scores})
    return found


def facts_of(data, judged):
    count = len(judged.lists)
    sizes = {"queries": count, "documents": 600, "features": 5, "top_label": 4}
    return {
        "data": DATA, "folds": [{"name": DATA, "start": 0, "stop": count}], "queries": count,
        "fingerprints": [data.fingerprint], "candidates": 12 * count, "lists": LISTS,
        "preset": "small", "groups": GROUPS, "sizes": [sizes],
    }  # fmt: skip


def benchmark_in(store, data):
    """The benchmark, stored as a run stores it."""
    from shuffleproof.core.studies import cells

    made, judged = plan(), lists_of(data)
    done, facts = cells_of(made, judged), facts_of(data, judged)
    ids = list(data.test.query_ids)
    result = cells.assemble(made.recipe(), made.cells(), done, ids, facts)

    def save(place):
        result.save(place)
        arrays = {"rows/0": judged.lists.rows, "offsets/0": judged.lists.offsets}
        for cell in made.cells():
            scores = done[cell.digest][1]["scores"]
            arrays[f"scores/{cell.row.ranker}/{cell.row.draw}/0"] = scores
        save_file(arrays, place / benchmark.RUNS)

    key = key_of("study", made.recipe())
    return store.add(key, made.recipe(), save, facts)


EFFECTS = {
    "paper": (0.6, 0.2), "released": (0.5, 0.2), "paper + loss softmax-ce": (0.61, 0.3),
    "paper + gradient clip 5": (0.6, 0.2),
}  # fmt: skip


def ablation_result(data):
    """An ablation of four variants."""
    rng = np.random.default_rng(3)
    kept = conventions.stored_measures([ablation.MEASURE])
    base = rng.uniform(0, 0.2, size=40)
    rows, values = [], []
    for label, (mean, fall) in EFFECTS.items():
        own = base + rng.normal(0, 0.02, size=40)
        for level, draw in ((0.0, 0), (20.0, 0), (20.0, 1)):
            rows.append({"ranker": label, "family": PAPER_FAMILY, "level": level, "draw": draw,
                         "tau": 1.0, "set_size": 8.0, "seconds": 0.1})  # fmt: skip
            lost = (level > 0) * (fall + rng.normal(0, 0.02, size=40))
            one = (mean + own - lost).astype(np.float32)
            one[:3] = np.nan
            values.append(np.tile(one, (len(kept), 1)))
    lists = key_of("lists", LISTS, (data.fingerprint,)).digest
    recipe = {
        "kind": Ablation.kind,
        "rankers": [[label, "abcd"[at] * 64] for at, label in enumerate(EFFECTS)],
        "lists": lists, "initial": ["lambdamart@small"],
        "perturbations": [[PAPER_FAMILY, 0.0], [PAPER_FAMILY, 20.0]],
        "measures": [ablation.MEASURE], "draws": 2, "seed": 0, "stored": list(kept),
    }  # fmt: skip
    facts = {
        "data": DATA, "ranker": "setrank-imsab", "queries": 40, "candidates": 480, "lists": LISTS,
        "preset": "small", "sizes": "small", "towards": ["released"], "reads": {},
        "of": dict.fromkeys(EFFECTS, "released"), "parameters": dict.fromkeys(EFFECTS, 9000),
        "sources": {**dict.fromkeys(EFFECTS, ""),
                    "paper + loss softmax-ce": "paper: both terms; released: <one>",
                    "paper + gradient clip 5": "not stated; released: 5"},
        "training_seconds": dict.fromkeys(EFFECTS, 12.0),
    }  # fmt: skip
    ids = tuple(map(str, data.test.query_ids))
    return StudyResult(recipe, pd.DataFrame(rows), np.stack(values), ids, facts)


def ablation_in(store, data):
    """The ablation, stored as a run stores it."""
    result = ablation_result(data)
    return store.add(key_of("study", result.recipe), result.recipe, result.save, result.facts)

"""A small study of every kind, with settings that are nobody's default."""

from dataclasses import replace

from shuffleproof.core.parameters import parameters
from shuffleproof.core.perturb.levels import levels_of, pairs_of
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.ablation.question import Ablation
from shuffleproof.core.studies.kinds.benchmark import outside_runs
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.certified_top_k.question import CertifiedTopK
from shuffleproof.core.studies.kinds.group_shuffles.question import GroupShuffles
from shuffleproof.core.studies.kinds.initial_ranking.question import InitialRanking
from shuffleproof.core.studies.kinds.initial_rankings.question import InitialRankings
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.set_size import study as set_size
from shuffleproof.core.studies.kinds.set_size.question import SetSize
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.workbench import Workbench, run_to_end
from tests import app_tables as tables

SIZES = (3, 12)
SHORT = {"epochs": "1", "steps_per_epoch": "2"}
RUNS = "benchmark of runs"
KINDS = (*STUDIES, RUNS)


def made(root):
    """(store, artefacts by kind, folder with the runs and their judgments), all below `root`."""
    store = Store(root / "store")
    tables.data_set(store, tables.fold())
    _studies(store, _runs(root / "runs"))
    return opened(root)


def opened(root):
    """The same of a folder that holds them already."""
    store = Store(root / "store")
    kinds = {RUNS if "runs" in one.recipe else one.recipe["kind"]: one
             for one in store.artefacts("study")}  # fmt: skip
    return store, {kind: kinds[kind] for kind in KINDS}, root / "runs"


def tiny(question):
    """Values of a question that are answered at once: one feature, two of everything counted."""
    names = {
        "rankers": ("feature:1",),
        "measures": ("RR",),
        "perturbations": pairs_of(["cut"], "0.25"),
    }
    return {
        one.name: names.get(one.names, 2)
        for one in parameters(question)
        if one.names in names or one.type is int
    }


def _runs(place):
    """Two runs that carry the same tag, with their judgments."""
    place.mkdir()
    (place / "qrels.txt").write_text("1 0 a 1\n1 0 b 0\n2 0 c 2\n")
    (place / "first.run").write_text("1 Q0 a 1 2.5 mine\n1 Q0 b 2 1 mine\n2 Q0 c 1 1 mine\n")
    (place / "second.run").write_text("1 Q0 b 1 2 mine\n1 Q0 a 2 1 mine\n")
    return place


def _studies(store, folder):
    lists = ListRecipe(("feature:3",), 10, "in-sample")
    workbench = run_to_end(Workbench.open(tables.DATA, lists, store, "small"))
    sizes = run_to_end(
        set_size.open_cells(SIZES, Scope(store, tables.DATA, lists.plain(), "paper"))
    )
    two = replace(lists, initial=("feature:3", "feature:1"))
    many = run_to_end(Workbench.open(tables.DATA, two, store, "paper"))
    nets = {
        name: run_to_end(workbench.train(RankerName.parse(name), SHORT)).artefact
        for name in ("setrank-msab", "gsf")
    }
    net, gsf = (f"{name}#{one.key.digest[:8]}" for name, one in nets.items())
    table = Benchmark(("feature:1", "random"), 2, ("RR", "NDCG@3"))
    sized = SetSize(("feature:1", "file-order"), (3,), measures=("NDCG@5", "RR"))
    pairs = pairs_of(["cut", "shuffle-shown"], "0.25")
    worst = {
        "search": {"method": "beam"},
        "budgets": (1, 2),
        "measures": ("NDCG@5",),
        "draws": 2,
        "seed": 1,
        "queries": 3,
    }
    levels = [("mallows", level) for level in levels_of("mallows", "0.5")]
    work = {
        "invariance": Invariance((net,), 2, 4).run(workbench),
        "initial-ranking": InitialRanking(("feature:1",), tuple(levels), ("RR",), 2, 5).run(
            workbench
        ),
        "benchmark": table.module("study").run([workbench], table, tables.DATA),
        "ablation": Ablation("dlcm", "small", ("released",), (3.0,), 1, 2).run(workbench),
        "set-size": set_size.run(sizes, sized),
        "initial-rankings": InitialRankings(("feature:2",), ("oracle",), 1, ("NDCG@5",)).run(many),
        "perturbations": Perturbations(("feature:1",), pairs, ("NDCG@3", "RR"), 2, 3).run(
            workbench
        ),
        "worst-case": WorstCase(("feature:1",), **worst).run(workbench),
        "group-shuffles": GroupShuffles((gsf,), (1, 2), 2, 3, 1).run(workbench),
        "certified-top-k": CertifiedTopK(
            (f"subset-2:{gsf}",), ("feature:1",), (1, 2), 2, 3, 20, 3, 3, 1
        ).run(workbench),
        "card": Card(("feature:1",), ("shuffle",), 2, 6).run(workbench),
    }
    rest = {kind: one for kind, one in STUDIES.items() if kind not in work}
    work |= {kind: one(**tiny(one)).run(workbench) for kind, one in rest.items()}
    for one in work.values():
        run_to_end(one)
    files = [folder / "first.run", folder / "second.run"]
    outside_runs.keep(outside_runs.compare_runs(folder / "qrels.txt", files, ("AP", "RR")), store)

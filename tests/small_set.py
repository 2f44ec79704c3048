"""A few rows of LETOR text, and a store with a ranker that was trained on them and its study."""

from typing import NamedTuple

from shuffleproof.core.data.catalogue import ingest
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.initial_ranking.question import InitialRanking
from shuffleproof.core.studies.workbench import Workbench, run_to_end

LETOR = "".join(
    f"{(query * 3 + place) % 3} qid:{query} 1:{place / 7:.3f} 2:{(place * query) % 5} # d{place}\n"
    for query in range(12)
    for place in range(6)
)
LISTS = ListRecipe(("feature:1",))


class Made(NamedTuple):
    """What stands in the store, beside the data set `mine`."""

    store: Store
    ranker: Artefact
    study: Artefact
    workbench: Workbench


def made(folder, lists=LISTS, ranker="mart", changes=(("trees", "3"),), level=0.0, **study):
    """Reads the rows, trains the ranker on these lists and perturbs them at one level."""
    (folder / "set.txt").write_text(LETOR)
    store = Store(folder / "store")
    run_to_end(ingest(folder / "set.txt", "mine", store))
    workbench = run_to_end(Workbench.open("mine", lists, store, "small"))
    trained = run_to_end(workbench.train(RankerName.parse(ranker), dict(changes))).artefact
    label = f"{ranker}#{trained.key.digest[:12]}"
    levels = [("transpositions", level)]
    return Made(
        store,
        trained,
        run_to_end(InitialRanking((label,), tuple(levels), **study).run(workbench)),
        workbench,
    )


def alike(query, a, b):
    """A judge to whom all documents are alike."""
    return 0.5

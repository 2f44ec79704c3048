"""`library verify` and `library clean`: what of a store is damaged, and what nobody needs."""

import argparse
from collections import defaultdict
from collections.abc import Sequence

from shuffleproof.core.cli.answer import Answer, table
from shuffleproof.core.cli.open import done, store_of
from shuffleproof.core.library import cleaning
from shuffleproof.core.library import entries as library
from shuffleproof.core.library.cleaning import Waste
from shuffleproof.core.store.verified import verifying
from shuffleproof.core.words import counted


def verify(arguments: argparse.Namespace) -> Answer:
    """`library verify`: every file digested; exit status 1 where something is damaged."""
    store = store_of(arguments)
    keys = [store.meant(text) for text in arguments.what]
    chosen = [one for one in store.artefacts() if not keys or one.key in keys]
    found = [] if keys else library.damaged(store)
    found += done("verify", verifying(store, chosen))
    rows = [{"name": one.name, "damaged": one.what, "found": one.found} for one in found]
    size = sum(one.size for one in chosen) / 1e6
    said = f"{counted(len(chosen), 'artefact')}, {size:,.1f} MB: "
    said += f"{len(found)} damaged" if found else "every file is as it was stored"
    remedy = "`shuffleproof library delete NAME` removes one; it is made again when needed."
    text = "\n".join([f"{said}.", table(rows), remedy]) if found else f"{said}."
    answer = {"artefacts": len(chosen), "damaged": rows}
    return Answer(answer, text, exit_code=1 if found else 0)


def clean(arguments: argparse.Namespace) -> Answer:
    """`library clean`: what nobody needs and what it would free; with --yes it is removed."""
    store = store_of(arguments)
    whole, found = cleaning.size(store), cleaning.waste(store)
    freed = sum(one.size for one in found)
    rows = _by_kind(found)
    if arguments.yes:
        cleaning.clean(found, store)
    answer = {"store": whole, "freed": freed, "removed": arguments.yes, "waste": rows}
    if not found:
        return Answer(answer, f"Nothing to remove: all {whole / 1e6:,.1f} MB are needed.")
    verb = "Freed" if arguments.yes else "Would free"
    last = "" if arguments.yes else "\nNothing was removed: say --yes to do it."
    head = f"{verb} {freed / 1e6:,.1f} of {whole / 1e6:,.1f} MB."
    return Answer(answer, f"{table(rows)}\n{head}{last}")


def _by_kind(found: Sequence[Waste]) -> list[dict[str, object]]:
    kinds: dict[str, list[Waste]] = defaultdict(list)
    for one in found:
        kinds[one.what].append(one)
    return [{"what": what, "files": len(ones), "MB": f"{sum(one.size for one in ones) / 1e6:.2f}"}
            for what, ones in kinds.items()]  # fmt: skip

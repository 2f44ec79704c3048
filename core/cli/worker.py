"""The command that does what pages and scripts handed in."""

import argparse

from shuffleproof.core.cli.answer import Answer, warn
from shuffleproof.core.cli.open import store_of
from shuffleproof.core.execution.jobs_supervisor import supervise
from shuffleproof.core.jobs import SHORT, WORKER, jobs_of
from shuffleproof.core.sharing import address_of, work


def worker(arguments: argparse.Namespace) -> Answer:
    """`worker`: do the store's jobs until Ctrl+C, or until there was nothing to do for so long.

    With --until-empty or --take it does units of what `--executor` shared, and touches no jobs.
    """
    store = store_of(arguments)
    if arguments.until_empty or arguments.take:
        item = {"store": address_of(store), "take": arguments.take}
        found = work(item | {"until_empty": arguments.until_empty})
        if found["failure"]:
            warn(f"shuffleproof: {found['failure']}")
        return Answer({"ran": True, **found}, exit_code=1 if found["failure"] else 0)
    warn(f"Doing the jobs of {store.root} (Ctrl+C ends it; what runs goes on at the next start)")
    ran = supervise(store.root, WORKER, arguments.slots, arguments.idle, SHORT)
    jobs = jobs_of(store)
    counts = {state: len(jobs.list(state)) for state in ("waiting", "done", "failed", "cancelled")}
    if not ran:
        text = f"another worker is doing the jobs of {store.root} already"
        return Answer({"ran": False, **counts}, text)
    return Answer({"ran": True, **counts})

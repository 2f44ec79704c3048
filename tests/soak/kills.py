"""Real jobs under kills at random moments, beside the same jobs left alone.

`python tests/soak/kills.py [--kills 100] [--seed 0] [--ranker dlcm] [--epochs 12]` trains; with
`--ingest 60` files of so many MB are read in instead. It works on two stores. In one it kills the
process of the job at random moments until so many kills are done, starting new jobs (other seeds)
as old ones end. In the other the same jobs run unperturbed. It prints one JSON object and exits
with 1 when anything was lost, took more than 15 seconds after a kill to get further than before,
or ended with other bytes.
"""

import argparse
import io
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from shuffleproof.core.jobs import PROGRAM, jobs_of, start_waiting, submit
from shuffleproof.core.library import uploads
from shuffleproof.core.store.artefacts import Store
from tests.job_watch import kill, processes, until

LIMIT = 15.0
LONGEST_LIFE, SHORT_LIFE = 10.0, 2.5


def handed_in(store, arguments, seed):
    """Submit the job of this seed."""
    if not arguments.ingest:
        return submit(store, "train", wanted(arguments, seed))
    upload = uploads.spool(store, [("set.txt", io.BytesIO(letor(arguments.ingest, seed)))])
    return submit(store, "ingest", {"upload": upload, "name": f"set{seed}"})


def letor(megabytes, seed):
    """So many MB of LETOR text: queries of 40 documents with 40 features."""
    cells = np.random.default_rng(seed).random((4000, 40)).round(4)
    texts = [" ".join(f"{at}:{cell}" for at, cell in enumerate(row, 1)) for row in cells]
    lines, size = [], 0
    while size < megabytes * 10**6:
        row = len(lines)
        lines.append(f"{row % 5} qid:{row // 40} {texts[row * 7919 % 4000]} # doc{row}\n")
        size += len(lines[-1])
    return "".join(lines).encode()


def wanted(arguments, seed):
    changes = {"epochs": str(arguments.epochs), "patience": "none", "seed": str(seed)}
    lists = {"initial": ["feature:1"]}
    return {"data": "sample", "ranker": arguments.ranker, "changes": changes, "lists": lists}


def strike(store):
    kill(processes(store.root, PROGRAM[-1]))


def looked(store, what):
    """Whether something is true, after a look at the jobs."""
    start_waiting(store)
    return what()


def suffer(store, arguments, dice):
    """Kill until enough; returns the jobs, the kinds of kills, and how long it took after them.

    That is, by name: `taken`, until another worker had the job; `further`, until its training
    reported an epoch that it had not reported before (waited for after every second kill).
    """
    jobs, struck, seeds, known = jobs_of(store), Counter(), 0, []
    seconds = {"taken": [], "further": []}
    while sum(struck.values()) < arguments.kills:
        if all(jobs.get(identifier).ended for identifier in known):
            known.append(handed_in(store, arguments, seeds).id)
            seeds += 1
        start_waiting(store)
        time.sleep(dice.uniform(0.0, SHORT_LIFE if arguments.ingest else LONGEST_LIFE))
        before = jobs.get(known[-1])
        if before.state != "running":
            continue
        start = time.monotonic()
        strike(store)
        struck["kills"] += 1
        until(lambda before=before: looked(store, lambda: moved_on(jobs, before)), 4 * LIMIT)
        seconds["taken"].append(time.monotonic() - start)
        if sum(struck.values()) % 2 and not arguments.ingest:
            until(lambda before=before: further(jobs, before), 4 * LIMIT)
            seconds["further"].append(time.monotonic() - start)
        sys.stderr.write(f"{sum(struck.values())}\n")
    until(lambda: looked(store, lambda: all(jobs.get(one).ended for one in known)), 600)
    return known, struck, seconds


def unperturbed(store, arguments, seeds):
    """Do the jobs of these seeds without anybody's interference."""
    jobs = jobs_of(store)
    known = [handed_in(store, arguments, seed).id for seed in seeds]
    until(lambda: looked(store, lambda: all(jobs.get(one).ended for one in known)), 3600)


def moved_on(jobs, before):
    now = jobs.get(before.id)
    return now.ended or now.attempts > before.attempts


def further(jobs, before):
    now = jobs.get(before.id)
    return now.ended or epochs(now) > epochs(before)


def epochs(job):
    return job.progress["done"] if job.progress and job.progress["unit"] == "epochs" else -1


def weights(store, identifier):
    """The bytes of the artefact of a job, but for what tells the time."""
    job = jobs_of(store).get(identifier)
    if job.state != "done":
        return f"{job.state}: {job.reason}"
    folder = store.resolve(job.result["artefact"]).path
    files = sorted(path for path in folder.iterdir() if path.name != "manifest.json")
    return [(path.name, path.read_bytes()) for path in files]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ranker", default="dlcm")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--ingest", type=int, default=0, metavar="MB")
    arguments = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="kills."))
    hurt, calm = Store(root / "hurt"), Store(root / "calm")
    try:
        unperturbed(calm, arguments, range(1))  # numba compiles here, not between kills
        start = time.monotonic()
        known, struck, seconds = suffer(hurt, arguments, random.Random(arguments.seed))
        took = time.monotonic() - start
        unperturbed(calm, arguments, range(len(known)))
        attempts = [jobs_of(hurt).get(identifier).attempts for identifier in known]
        equal = [weights(hurt, each) == weights(calm, each) for each in known]
        states = Counter(job.state for job in jobs_of(hurt).list())
    finally:
        kill(processes(root))
        shutil.rmtree(root, ignore_errors=True)
    answer = {
        "kills": dict(struck),
        "jobs": dict(states),
        "attempts": sum(attempts),
        "same_bytes": sum(equal),
        "other_bytes": [seed for seed, same in enumerate(equal) if not same],
        "seconds": {
            name: {"median": median(each), "largest": max(each)}
            for name, each in seconds.items()
            if each
        },
        "late": sum(each > LIMIT for each in seconds["further"]),
        "minutes": took / 60,
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    good = states["done"] == len(known) == sum(equal) and not answer["late"]
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

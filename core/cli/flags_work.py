"""The commands around the core: `bench`, `demo`, `sample`, `worker`, `app`."""

from pathlib import Path

from shuffleproof.core.cli import flags
from shuffleproof.core.numerals import whole

BENCH_JOBS = (
    "lambdamart", "rankboost", "cluster", "dlcm-train", "figure3", "gpu-train", "gpu-score",
    "gpu-table2", "retrieval", "mixed-lengths", "ndcg", "parse", "reopen", "preferences",
    "ranksvm", "scaling", "istella", "setrank-score", "setrank-train", "shell", "softrank", "tuned",
)  # fmt: skip
"""Of `core.bench`, whose modules load too much for a help text."""

LONG_JOBS = frozenset({"istella"})
"""Those that run only when named."""


def add(commands: flags.Commands) -> None:
    """Add them."""
    bench = flags.command(commands, "bench", "work:bench", "our speed beside a peer's, one run")
    bench.add_argument(
        "jobs",
        nargs="*",
        help="all by default but istella, which takes seven minutes or more and 30 GB of disk; gpu "
        f"is all of gpu-…: {', '.join(BENCH_JOBS)}",
    )
    bench.add_argument("--quick", action="store_true", help="small sizes")
    bench.add_argument(
        "--page", type=Path, metavar="FILE.md",
        help="write it all on a page, with the machine and its limits, and a line into the history "
        "beside it: what lost more than 10 %% since the last run of this machine is named",
    )  # fmt: skip
    demo = flags.command(
        commands, "demo", "work:demo", "the main job on the sample set, in minutes"
    )
    demo.add_argument("--out", type=Path, default=Path("reports/demo.html"), help="the report")
    sample = flags.command(commands, "sample", "sample:sample", "make what sample_data ships")
    sample.add_argument("folder", type=Path, help="where sample_data lies")
    worker = flags.command(commands, "worker", "work:worker", "do the jobs that were handed in")
    worker.add_argument(
        "--slots",
        type=flags.count,
        help="jobs at once (default: one a GPU, or by cores), and one short one beside them",
    )
    worker.add_argument("--idle", type=flags.seconds, help="end after so many seconds without work")
    worker.add_argument(
        "--until-empty",
        action="store_true",
        help="do no jobs but trainings and cells of studies that --executor shares in this store, "
        "until nothing is left; any scheduler may start such workers",
    )
    worker.add_argument(
        "--take",
        type=flags.count,
        help="likewise, and end after so many of them; where there are fewer, it waits for more "
        "(--idle says how long)",
    )
    app = flags.command(commands, "app", "work:app", "open the dashboard")
    app.add_argument("--host", default="127.0.0.1", help="address to listen on")
    app.add_argument("--port", type=whole, choices=range(1, 65_536), metavar="PORT", default=8501)
    app.add_argument("--allow-host", nargs="+", help="host names it answers to, beside loopback")
    app.add_argument("--base-path", help="path below which a proxy serves it")

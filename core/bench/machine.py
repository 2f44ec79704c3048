"""The machine that a benchmark ran on, and its own limits, measured in the same run."""

import hashlib
import json
import os
import platform
import tempfile
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from shuffleproof.core.bench.peak import MatrixProduct
from shuffleproof.core.bench.result import interleave
from shuffleproof.core.execution.jobs_slots import cores
from shuffleproof.core.execution.machine import processor

COPIED, WRITTEN = 1 << 28, 1 << 28
"""Bytes of the arrays that are copied, and of the file that is written and read."""


@dataclass(frozen=True)
class Machine:
    """What of a machine makes its figures its own.

    Attributes:
        processor: its model, as the system names it.
        cores: that this process may use.
        memory: in GiB.
        device: the GPU's name; empty where there is none.
        python: its version.
        torch: its version.
    """

    processor: str
    cores: int
    memory: int
    device: str
    python: str
    torch: str

    @classmethod
    def of_this_machine(cls) -> "Machine":
        """This one."""
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        device = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
        return cls(
            processor(), cores(), round(pages * size / 2**30), device,
            platform.python_version(), version("torch"),
        )  # fmt: skip

    @property
    def digest(self) -> str:
        """What its lines of a history are known by: figures compare on the same machine alone."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:12]


def limits() -> dict[str, float]:
    """What the machine does at best: products, memory and disk, by name and unit."""
    single, half = (MatrixProduct(dtype) for dtype in (torch.float32, torch.bfloat16))
    source = np.ones(COPIED // 8)
    target = np.empty_like(source)
    *_, copied = interleave(single, half, lambda: np.copyto(target, source))
    figures = {
        "product, float32 (Gflop/s)": single.rate / 1e9,
        "product, bfloat16 (Gflop/s)": half.rate / 1e9,
        "memory, copy (GB/s)": 2 * COPIED / copied / 1e9,
    }
    if torch.cuda.is_available():
        graphics = MatrixProduct(torch.bfloat16, "cuda")
        interleave(graphics)
        figures["product on the GPU, bfloat16 (Gflop/s)"] = graphics.rate / 1e9
    return figures | _disk()


def _disk() -> dict[str, float]:
    content = os.urandom(WRITTEN)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "written"

        def written() -> None:
            with path.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())

        def read() -> None:
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                while file.read(1 << 24):
                    pass

        rates = [WRITTEN / least / 1e6 for least in interleave(written, read, repeats=3)]
    return {"disk, written (MB/s)": rates[0], "disk, read (MB/s)": rates[1]}

"""Compile every kernel of SetRank's layers for GPUs, none of which need be here; run by a test."""

import itertools
import os
import sys

os.environ["TRITON_INTERPRET"] = "0"  # read when Triton is first imported

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from shuffleproof.core.models import gpu_kernels

NUMBERS = {"norms", "shift", "weight", "bias", "parts"}
"""Pointers to float32; others point to bfloat16, and masks to bytes."""

POINTERS = NUMBERS | {
    "query", "key", "value", "out", "of_out", "of_query", "of_key", "of_value", "x", "branch",
    "of_sum", "grad", "result", "through",
}  # fmt: skip
SHAPE = {"HEADS": 8, "WIDTH": 32, "ROWS": 16, "KEYS": 32, "COLUMNS": 256}


def kinds(kernel, constants):
    """The type of each of a kernel's arguments."""
    for name in kernel.arg_names:
        if name in constants:
            yield name, "constexpr"
        elif name == "real":
            yield name, "*u8"
        elif name in POINTERS:
            yield name, "*fp32" if name in NUMBERS else "*bf16"
        else:
            yield name, "fp32" if name in {"scale", "epsilon"} else "i32"


def compile_all():
    """Each kernel, with each of its switches on and off, for an A100 and an H100."""
    for name, kernel in vars(gpu_kernels).items():
        if isinstance(kernel, triton.JITFunction) and not name.startswith("_"):
            own = [argument for argument in kernel.arg_names if argument.isupper()]
            switches = [argument for argument in own if argument not in SHAPE]
            for values in itertools.product([True, False], repeat=len(switches)):
                constants = {**SHAPE, **dict(zip(switches, values, strict=True))}
                constants = {key: value for key, value in constants.items() if key in own}
                source = ASTSource(kernel, dict(kinds(kernel, constants)), constants)
                for architecture in (80, 90):
                    triton.compile(source, target=GPUTarget("cuda", architecture, 32))
            sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    compile_all()

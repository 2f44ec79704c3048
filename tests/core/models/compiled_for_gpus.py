"""Compile every kernel for GPUs, none of which need be here; run by a test."""

import itertools

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from shuffleproof.core.kernels import trial
from shuffleproof.core.losses import gpu_listwise
from shuffleproof.core.models.gpu import kernels, layers, recurrence

NUMBERS = {
    "norms", "alongs", "sums", "shift", "weight", "bias", "parts", "running", "carried", "scores",
    "labels", "losses", "gradient", "values",
}  # fmt: skip
"""Pointers to float32; others point to bfloat16, and masks to bytes."""

POINTERS = NUMBERS | {
    "query", "key", "value", "out", "of_out", "of_query", "of_key", "of_value", "x", "branch",
    "of_sum", "grad", "result", "through", "inputs", "product", "kept", "state", "earlier", "into",
    "of_inner",
}  # fmt: skip
SHAPE = {"HEADS": 8, "WIDTH": 32, "ROWS": 16, "KEYS": 32, "COLUMNS": 256, "block": 64, "count": 64}
SWITCHES = {"MASKED", "ALL_KEYS", "ALL_ROWS", "SHIFTED", "RELU", "after"}
STARTED = {
    kernels: ("attend", "attend_backward", "attend_backward_queries", "add_norm",
                  "add_norm_backward", "columns_backward", "sum_rows"),
    gpu_listwise: ("_losses",),
    trial: ("_doubled",),
    recurrence: ("_gates", "_mix", "_into_products", "_into_reset"),
}  # fmt: skip


LONG = {"ALL_KEYS": False, "ALL_ROWS": False, "MASKED": True}
LAUNCHED = {
    "attend": {"ROWS": layers.ROWS, "KEYS": layers.KEYS, "maxnreg": 128},
    "attend_backward": layers._shape_of_backward(240, 240, SHAPE["WIDTH"]),
    "attend_backward_queries": {"ROWS": layers.ROWS, "KEYS": 32, "num_stages": 5},
}  # fmt: skip
"""As lists of 240 documents have them: constants, and options of the compiler."""


def kinds(kernel, constants):
    """The type of each of a kernel's arguments."""
    for name in kernel.arg_names:
        if name in constants:
            yield name, "constexpr"
        elif name in {"real", "mask"}:
            yield name, "*u8"
        elif name in POINTERS:
            yield name, "*fp32" if name in NUMBERS else "*bf16"
        else:
            yield name, "fp32" if name in {"scale", "epsilon"} else "i32"


def compile_all():
    """Each kernel, with each of its switches on and off, and as long lists have them."""
    for kernel in (getattr(module, name) for module in STARTED for name in STARTED[module]):
        switches = [name for name in kernel.arg_names if name in SWITCHES]
        for values in itertools.product([True, False], repeat=len(switches)):
            compiled(kernel, SHAPE | dict(zip(switches, values, strict=True)), {})
    for name, launched in LAUNCHED.items():
        kernel = getattr(kernels, name)
        options = {key: value for key, value in launched.items() if key not in kernel.arg_names}
        compiled(kernel, SHAPE | LONG | launched, options)


def compiled(kernel, constants, options):
    """A kernel for an A100 and an H100."""
    constants = {key: value for key, value in constants.items() if key in kernel.arg_names}
    source = ASTSource(kernel, dict(kinds(kernel, constants)), constants)
    for architecture in (80, 90):
        triton.compile(source, target=GPUTarget("cuda", architecture, 32), options=options)


if __name__ == "__main__":
    compile_all()

"""PyTorch's optimisers without its compiler, which takes as long to import as PyTorch itself.

Decorators of `torch.optim` import `torch._dynamo` at the first call, only to exclude methods from
compiled programs. Nothing is compiled here, so the undecorated methods do the same.
"""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

DECORATED = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")


@cache
def without_compiler(kind: type[torch.optim.Optimizer]) -> Callable[..., torch.optim.Optimizer]:
    """Class of optimisers that take the same steps without importing the compiler.

    >>> parameter = torch.nn.Parameter(torch.ones(1))
    >>> optimiser = without_compiler(torch.optim.SGD)([parameter], lr=0.25)
    >>> parameter.grad = torch.ones(1)
    >>> optimiser.step()
    >>> parameter.tolist()
    [0.75]
    """
    methods: dict[str, Any] = {name: inspect.unwrap(getattr(kind, name)) for name in DECORATED}
    methods["step"] = torch.no_grad()(inspect.unwrap(kind.step))
    return type(kind.__name__, (kind,), methods)

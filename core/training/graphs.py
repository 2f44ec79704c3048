"""CUDA graphs: GPU work recorded once and launched as a whole."""

from collections.abc import Callable

import torch
from torch import Tensor


class Graphs:
    """CUDA graphs that share one memory pool."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.pool = torch.cuda.graph_pool_handle()
        self.side = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def warmed(self, work: Callable[[], Tensor]) -> Tensor:
        """Run the work on a side stream, outside of the recorded stream."""
        main = torch.cuda.current_stream(self.device)
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            done = work()
        # Results must be complete before the main stream reads them
        main.wait_stream(self.side)
        return done

    def record(self, work: Callable[[], Tensor]) -> Callable[[], Tensor]:
        """Record the work; return a function that replays it."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(self.device), torch.cuda.graph(graph, pool=self.pool):
            done = work()

        def replayed() -> Tensor:
            graph.replay()
            return done

        return replayed

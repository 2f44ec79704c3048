"""Work on a GPU recorded once and launched as a whole: CUDA graphs."""

from collections.abc import Callable

import torch
from torch import Tensor


class Graphs:
    """CUDA graphs that share one pool of memory."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.pool = torch.cuda.graph_pool_handle()
        self.side = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def warmed(self, work: Callable[[], Tensor]) -> Tensor:
        """Do the work on the side, so that nothing of it belongs to the stream recorded."""
        main = torch.cuda.current_stream(self.device)
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            done = work()
        main.wait_stream(self.side)
        return done

    def record(self, work: Callable[[], Tensor]) -> Callable[[], Tensor]:
        """Capture the work."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(self.device), torch.cuda.graph(graph, pool=self.pool):
            done = work()

        def replayed() -> Tensor:
            graph.replay()
            return done

        return replayed

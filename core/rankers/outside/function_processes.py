"""Several processes of one function, so that calls that wait need not wait for each other.

Processes and not threads of one process: what holds for a call of a single one holds for each of
them (its seconds, its crash told with its query, no state shared with another call), and functions
need not be safe in threads.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers.outside.function_process import FunctionProcess

Ask = Callable[[FunctionProcess, int], None]
"""Make a call by its number in this process."""


class FunctionProcesses:
    """The processes of one function.

    Calls about one query always go to the same of them: what a function remembers of a query, it
    remembers as if there was a single process. All but the first are started when they are needed.

    Attributes:
        processes: one or more.
    """

    def __init__(
        self,
        target: str,
        seconds: float,
        jobs: int,
        threads: int | None = None,
        *,
        own_folders: bool = False,
    ) -> None:
        """Nothing is started yet; arguments as `FunctionProcess` takes them."""
        self.processes = tuple(
            FunctionProcess(target, seconds, threads, own_folders=own_folders) for _ in range(jobs)
        )
        self._homes: dict[str, int] = {}

    @property
    def own_folders(self) -> bool:
        """Whether all had, up to now, temporary and home folders of their own."""
        return all(process.own_folders for process in self.processes)

    def each(self, queries: Sequence[str], ask: Ask) -> None:
        """Make calls, as many at the same time as there are processes.

        Args:
            queries: what each call is about.
            ask: makes one of them.

        Raises:
            ShuffleproofError: of the first call in their order that failed, as without company.
        """
        shares: dict[int, list[int]] = {}
        for at, query in enumerate(queries):
            shares.setdefault(self._home(query), []).append(at)
        for process in self.processes:
            process.resume()
        failed: dict[int, ShuffleproofError] = {}
        stopped = Event()

        def work(home: int) -> None:
            for at in shares[home]:
                if stopped.is_set() or min(failed, default=at) < at:
                    return
                try:
                    ask(self.processes[home], at)
                except ShuffleproofError as error:
                    failed[at] = error

        with ThreadPoolExecutor(max(len(shares), 1)) as pool:
            try:
                list(pool.map(work, shares))
            except BaseException:  # Ctrl-C: whoever waits for an answer is told that none comes
                stopped.set()
                self.end()
                raise
        if failed:
            raise failed[min(failed)]

    def end(self) -> None:
        """End all of them, also in the middle of calls."""
        for process in self.processes:
            process.end()

    def _home(self, query: str) -> int:
        """The process of a query: in turn, so that any regular share of them is spread too."""
        assigned, count = len(self._homes), len(self.processes)
        return self._homes.setdefault(query, (assigned + assigned // count) % count)

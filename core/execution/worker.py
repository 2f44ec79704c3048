"""A worker process: one JSON request a line on stdin, one JSON answer a line on stdout.

Started as `python -m core.execution.worker`. What the work prints goes to stderr, so it cannot
spoil the answers. The worker ends when its stdin closes, and at the latest a second after its
parent died.
"""

import json
import os

from shuffleproof.core.execution.early_end import EarlyEnd, end_with_parent
from shuffleproof.core.execution.work import do_item


def serve() -> None:
    """Answer requests until stdin closes."""
    end_with_parent()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with os.fdopen(os.dup(0), encoding="utf-8") as requests:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for line in requests:
            function, item = json.loads(line)
            answers.write(do_item(function, item) + "\n")
            answers.flush()


if __name__ == "__main__":
    end = EarlyEnd()
    serve()
    end.status = 0

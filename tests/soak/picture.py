"""The README's moving picture: the sample's example query, shuffled once.

`python -m tests.soak.picture` writes `sample_data/shuffle.gif` again.
"""

from pathlib import Path

from shuffleproof.app.figures.animation import shuffle_gif
from shuffleproof.app.publish import recorded_shuffles
from shuffleproof.core.execution.jobs import HOME

TARGET = Path(HOME) / "sample_data" / "shuffle.gif"


def main():
    """Write the picture."""
    start, first, *_ = recorded_shuffles("sample", [])[0]
    caption = f"sample, query {first['query']}, NDCG@10"
    TARGET.write_bytes(shuffle_gif(first | {"documents": start["documents"]}, caption))
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")  # noqa: T201 (a script)


if __name__ == "__main__":
    main()

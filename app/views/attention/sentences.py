"""Sentences of the page Attention: the effect of a change, and a summary of one list."""

from collections.abc import Sequence

import pandas as pd

from shuffleproof.core.answers.list_edit import ListEdit
from shuffleproof.core.answers.one_list import amount
from shuffleproof.core.rankers.attention.kinds import KINDS
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies.headline import FAILS, ROBUST
from shuffleproof.core.studies.sections import Headline
from shuffleproof.core.words import counted

MAIN = ("documents", "through", "paths")
"""Main map of a ranker, whichever of these it has."""

UNIFORM = 0.8
"""Effective neighbours as a share of the list from which attention is nearly uniform."""

ROUNDING = 1e-5
"""Largest difference of weights in [0, 1] that float32 rounding explains."""

WEIGHTS = f"robust: no weight changes by more than rounding ({ROUNDING:g}); fails: some do"
READ_AS = {"order": "order", "ranking": "ranks", "set": "neighbours", "features": "features"}
"""Input that a ranker reads, by the part that a change touches."""


def summary(ranker: str, heads: pd.DataFrame, documents: int) -> str:
    """Number of documents that a ranker uses in one list, and the weight of relevant ones.

    Args:
        ranker: its label.
        heads: a row a head: map, and the numbers of `rankers.attention.summary.MEASURES`.
        documents: length of the list.

    >>> heads = pd.DataFrame({"map": ["documents", "documents", "rollout"],
    ...                       "neighbours": [4.0, 6.0, 9.0], "relevant": [0.3, 0.5, 0.2],
    ...                       "chance": [0.25, 0.25, 0.25]})
    >>> summary("setrank-msab", heads, 10)[:64]
    'SetRank MSAB draws on 5.0 of 10 documents (effective neighbours,'
    >>> summary("setrank-msab", heads, 10)[64:]
    ' mean over 2 heads). Relevant documents get 0.400 of the weight; equal weights give 0.250.'
    """
    main = heads[heads["map"].isin(MAIN)]
    over = f", mean over {counted(len(main), 'head')}" if len(main) > 1 else ""
    text = (
        f"{RankerName.of(ranker).display} draws on {main['neighbours'].mean():.1f} of "
        f"{counted(documents, 'document')} (effective neighbours{over})."
    )
    if main["relevant"].isna().all():
        return f"{text} The list has no relevant document."
    return (
        f"{text} Relevant documents get {main['relevant'].mean():.3f} of the weight; equal weights "
        f"give {main['chance'].mean():.3f}."
    )


def is_uniform(heads: pd.DataFrame, documents: int) -> bool:
    """True if a document draws on nearly all documents alike, mean over the heads.

    Args:
        heads: as for `summary`.
        documents: length of the list.
    """
    main = heads[heads["map"].isin(MAIN)]
    return bool(main["neighbours"].mean() >= UNIFORM * documents)


def verdict(
    ranker: str,
    reads: Sequence[str],
    change: ListEdit,
    changes: Sequence[tuple[str, int, float]],
    *,
    uniform: bool = False,
) -> Headline:
    """The effect of a change on the weights of one list, matched by document.

    Args:
        ranker: its label.
        reads: parts of the input that it declares to read.
        change: change of the list.
        changes: (kind, block, largest change of one cell) of all maps; only distributions count
            here, not single gates or parts of a score.
        uniform: True if the weights are nearly equal.

    >>> said = verdict("setrank-msab", ("features",), ListEdit.parse("-initial"),
    ...                [("documents", 0, 3e-8)])
    >>> said.text, said.tier
    ("Changing the input order leaves SetRank MSAB's attention unchanged (largest difference \
3.00e−08, rounding).", 'robust')
    """
    weights = [change_of for change_of in changes if KINDS[change_of[0]].distribution]
    kind, block, largest = max(weights, key=lambda change_of: change_of[2])
    name, what = RankerName.of(ranker).display, change.change_name
    reads_it = any(READ_AS[touched] in reads for touched in change.touches)
    nearly = " It is nearly uniform." if uniform else ""
    if largest < ROUNDING:
        text = f"Changing the {what} leaves {name}'s attention unchanged"
        return Headline(
            f"{text} (largest difference {amount(largest)}, rounding).{nearly}", ROBUST, WEIGHTS
        )
    several = {at for name, at, _ in changes if name == kind} != {0}
    place = f" ({KINDS[kind].words}{f', block {block + 1}' if several else ''})"
    text = f"Changing the {what} changes {name}'s attention by up to {amount(largest)}{place}"
    if not reads_it:
        text += f", although {name} declares not to read it"
    return Headline(f"{text}.{nearly}", FAILS, WEIGHTS)

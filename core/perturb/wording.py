"""Perturbations in words that need no glossary, for headlines and captions."""

from collections.abc import Mapping

from shuffleproof.core.perturb.names import with_display_names
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.words import counted, percent

SHARE = "%"

WORDS: Mapping[str, tuple[str, str]] = {
    "transpositions": ("after {}", "random swap"),
    "adjacent-inversions": ("with {} of the ranking inverted", "pair"),
    "shuffle": ("with {} of the ranks shuffled", SHARE),
    "reverse": ("with {} of the ranks reversed", SHARE),
    "mallows": ("with orders at Kendall τ {}", ""),
    "score-noise": ("with score noise of {} SD", ""),
    "plackett-luce": ("with orders drawn at temperature {}", ""),
    "top-swaps": ("after {} in the top 10", "random swap"),
    "tail-swaps": ("after {} below rank 10", "random swap"),
    "reversed-pairs": ("after {} of relevant documents downwards", "swap"),
    "promote": ("with a non-relevant document at rank {}", ""),
    "demote-best": ("with the best document {} lower", "place"),
    "tie-storm": ("with {} of the ranks tied", SHARE),
    "shuffle-shown": ("with {} of the input shuffled", SHARE),
    "reverse-shown": ("with {} of the input reversed", SHARE),
    "blocks-shown": ("with {} of the input shuffled", "block"),
    "rotate-shown": ("with the first {} shown last", "document"),
    "label-shown": ("with the input sorted by label ({})", ""),
    "id-shown": ("with the input sorted by id ({})", ""),
    "cut": ("with {} of each list cut off", SHARE),
    "sample": ("with {} of the documents removed", SHARE),
    "remove-top": ("without the first {}", "document"),
    "singleton": ("with one document alone", ""),
    "distractors": ("with {} of other queries", "document"),
    "hard-distractors": ("with {} of other queries", "similar document"),
    "duplicates": ("with {} twice", "document"),
    "near-duplicates": ("with {} almost twice", "document"),
    "feature-noise": ("with feature noise of {} SD", ""),
    "feature-scale": ("with features scaled by noise of {} SD", ""),
    "feature-quantised": ("with features rounded to {} SD", ""),
    "feature-clipped": ("with features clipped, {} at each end", SHARE),
    "missing-mean": ("with {} of the values set to the mean", SHARE),
    "missing-zero": ("with {} of the values set to 0", SHARE),
    "group-out": ("with {} set to the mean", "feature"),
    "unit-error": ("with {} times 1000", "feature"),
    "column-shuffled": ("with {} permuted", "feature"),
    "gradient-sign": ("with features attacked by {} SD", ""),
    "label-flips": ("trained with {} of the labels flipped", SHARE),
    "label-noise": ("trained with {} of the labels random", SHARE),
    "label-censored": ("trained with {} of the relevant labels hidden", SHARE),
    "clicks-position": ("trained on clicks of {} a query", "session"),
    "clicks-cascade": ("trained on clicks of {} a query", "session"),
    "train-seed": ("trained with another seed", ""),
    "train-order": ("trained in another row order", ""),
    "bfloat16": ("in bfloat16", ""),
    "batches": ("in batches of {}", "list"),
    "threads": ("with {}", "thread"),
}
"""End of a sentence on a family, and the noun that its level counts."""


def condition_in_words(family: str, level: float) -> str:
    """Level of a family, worded as the end of a sentence; chains and own families by name.

    >>> condition_in_words("transpositions", 80), condition_in_words("missing-mean", 0.6)
    ('after 80 random swaps', 'with 60 % of the values set to the mean')
    >>> condition_in_words("cut:0.5+shuffle-shown", 1)
    'under cut:0.5+shuffle-input at 1'
    """
    name = family.partition("@")[0]
    if name not in WORDS:
        words = f"{level:g} {family}" if entry_of(family).whole else f"{family} at {level:g}"
        return f"under {with_display_names(words)}"
    sentence, noun = WORDS[name]
    if noun == SHARE:
        return sentence.format(percent(level))
    return sentence.format(counted(int(level), noun) if noun else f"{level:g}")

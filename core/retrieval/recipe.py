"""Declared options for reading files of a collection, and for converting texts to terms."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from shuffleproof.core.parameters import CheckedParameters, parameter

AUTO = "auto"
FORMATS = ("smart", "trec", "beir", "jsonl")


@dataclass(frozen=True)
class CollectionFormat(CheckedParameters):
    """Options for reading the files of a collection."""

    format: str = parameter(
        AUTO, "format of the files; auto: by their names and first lines",
        choices=(AUTO, *FORMATS),
    )  # fmt: skip
    numbers: str = parameter(
        AUTO,
        "what the query numbers of judgments are: ids of queries, or their positions from 1 on; "
        "auto: ids, unless they fit as positions alone, as in Cranfield",
        choices=(AUTO, "ids", "positions"),
    )
    grades: str = parameter(
        AUTO,
        "which grades are best: large ones, or small ones from 1 on; auto: small where they are "
        "Cleverdon's 1 to 4 and −1, else large",
        choices=(AUTO, "large", "small"),
    )


LUCENE = """
a an and are as at be but by for if in into is it no not of on or such that the their then
there these they this to was will with
"""
"""The 33 stop words of Lucene's StandardAnalyzer."""

SNOWBALL = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she
her hers herself it its itself they them their theirs themselves what which who whom this that
these those am is are was were be been being have has had having do does did doing would should
could ought i'm you're he's she's it's we're they're i've you've we've they've i'd you'd he'd
she'd we'd they'd i'll you'll he'll she'll we'll they'll isn't aren't wasn't weren't hasn't
haven't hadn't doesn't don't didn't won't wouldn't shan't shouldn't can't cannot couldn't
mustn't let's that's who's what's here's there's when's where's why's how's a an the and but if
or because as until while of at by for with about against between into through during before
after above below to from up down in out on off over under again further then once here there
when where why how all any both each few more most other some such no nor not only own same so
than too very
"""
"""The 174 stop words of the Snowball project (snowballstem.org/algorithms/english/stop.txt)."""


def _words(text: str) -> frozenset[str]:
    """Words of a list, with contractions whole and split as by tokenisers."""
    words = text.split()
    return frozenset(words) | {
        part for word in words if "'" in word for part in re.split("'", word)
    }


STOP_WORDS = {"none": frozenset[str](), "lucene": _words(LUCENE), "snowball": _words(SNOWBALL)}
"""Stop words by name: words without topical meaning, from two well-known lists."""

TOKENISERS = {
    "words": re.compile(r"[^\W_]+"),
    "letters": re.compile(r"[^\W\d_]+"),
    "blanks": re.compile(r"\S+"),
}


@dataclass(frozen=True)
class Analysis(CheckedParameters):
    """Conversion of a text to terms.

    >>> [Analysis().term_of()(word) for word in ("the", "flows", "heated", "gases")]
    ['', 'flow', 'heat', 'gase']
    """

    tokeniser: str = parameter(
        "words",
        "words: runs of letters and digits, letters: of letters alone, blanks: what stands "
        "between blanks; always in lower case",
        choices=tuple(TOKENISERS),
    )
    stop_words: str = parameter(
        "snowball",
        "words that are left out: none, Lucene's 33, or Snowball's 174",
        choices=tuple(STOP_WORDS),
    )
    stemmer: str = parameter(
        "porter",
        "none, Porter's (1980), or english: his second (Snowball)",
        choices=("none", "porter", "english"),
    )

    def term_of(self) -> Callable[[str], str]:
        """Function from a word in lower case to its term, or to "" for a stop word."""
        left_out = STOP_WORDS[self.stop_words]
        if self.stemmer == "none":
            return lambda word: "" if word in left_out else word
        import Stemmer  # noqa: PLC0415 (only who reads text waits for it)

        stem = Stemmer.Stemmer(self.stemmer).stemWord
        return lambda word: "" if word in left_out else stem(word)

    @property
    def in_words(self) -> str:
        """Description in one sentence."""
        return (
            f"How texts become terms: tokeniser {self.tokeniser}, stop words {self.stop_words}, "
            f"stemmer {self.stemmer}."
        )

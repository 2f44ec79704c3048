"""How files become a collection, and its texts terms: each a declared choice."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from shuffleproof.core.parameters import check, parameter

AUTO = "auto"
FORMATS = ("smart", "trec", "beir", "jsonl")


@dataclass(frozen=True)
class CollectionFormat:
    """How files become a collection."""

    format: str = parameter(
        AUTO, "what the files are; auto: told by their names and first lines",
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

    def __post_init__(self) -> None:
        """Check the choices.

        Raises:
            ParameterError: one that there is not.
        """
        check(self)


LUCENE = """
a an and are as at be but by for if in into is it no not of on or such that the their then
there these they this to was will with
"""
"""The 33 of Lucene's StandardAnalyzer."""

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
"""The 174 of the Snowball project (snowballstem.org/algorithms/english/stop.txt)."""


def _words(text: str) -> frozenset[str]:
    """The words of a list, contractions whole and as tokenisers split them."""
    words = text.split()
    return frozenset(words) | {
        part for word in words if "'" in word for part in re.split("'", word)
    }


STOP_WORDS = {"none": frozenset[str](), "lucene": _words(LUCENE), "snowball": _words(SNOWBALL)}
"""By name: words that say nothing of what a text is about, as two well-known lists have them."""

TOKENISERS = {
    "words": re.compile(r"[^\W_]+"),
    "letters": re.compile(r"[^\W\d_]+"),
    "blanks": re.compile(r"\S+"),
}


@dataclass(frozen=True)
class Analysis:
    """How a text becomes terms.

    >>> Analysis().terms("The flows of heated gases")
    ['flow', 'heat', 'gase']
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

    def __post_init__(self) -> None:
        """Check the choices.

        Raises:
            ParameterError: one that there is not.
        """
        check(self)

    def terms(self, text: str) -> list[str]:
        """The terms of a text, in order, stop words left out."""
        term_of = self.term_of()
        words = TOKENISERS[self.tokeniser].findall(text.lower())
        return [term for term in map(term_of, words) if term]

    def term_of(self) -> Callable[[str], str]:
        """What makes a term of a word in lower case, and the empty text of a stop word."""
        left_out = STOP_WORDS[self.stop_words]
        if self.stemmer == "none":
            return lambda word: "" if word in left_out else word
        import Stemmer  # noqa: PLC0415 (only who reads text waits for it)

        stem = Stemmer.Stemmer(self.stemmer).stemWord
        return lambda word: "" if word in left_out else stem(word)

    @property
    def in_words(self) -> str:
        """What it does, in a sentence."""
        return (
            f"How texts become terms: tokeniser {self.tokeniser}, stop words {self.stop_words}, "
            f"stemmer {self.stemmer}."
        )

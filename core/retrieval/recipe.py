"""How files become a collection, and its texts terms: each a declared choice."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from shuffleproof.core.parameters import check, parameter
from shuffleproof.core.retrieval.stop_words import STOP_WORDS

AUTO = "auto"
FORMATS = ("smart", "trec", "beir", "jsonl")


@dataclass(frozen=True)
class Reading:
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
        term = self.term_of()
        words = TOKENISERS[self.tokeniser].findall(text.lower())
        return [found for found in map(term, words) if found]

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

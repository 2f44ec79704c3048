"""Text data set that ships: passages about everyday questions, with grades by construction.

`python -m tests.sample_texts sample_data/sample-texts` writes it from `sample_texts.txt`, where

- `# topic` begins a topic, of which there are six a field;
- `? aspect: question` begins one of its two aspects;
- `=` answers the question, `~` belongs to the aspect without an answer, `!` repeats words of the
  question in another sense, and `-` belongs to the topic alone.

Grade 3 answers the question, 2 shares its aspect, 1 shares its topic, and 0 does neither.
"""

import csv
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.retrieval import candidates
from shuffleproof.core.retrieval.collection import Collection, digest_of
from shuffleproof.core.retrieval.registry import IndexedCollection, retriever_entry
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store

SEED, DOCUMENTS = 2026, 20
PARTS = {"train": (0, 2), "vali": (4,), "test": (1, 3)}
"""Topics of each part, by the remainder of their number: all queries of a topic are in one part."""

TITLES = {
    "=": ("", ", in short"), "~": (", a side note", ", another note"), "!": (" …",), "-": ("",),
}  # fmt: skip

FORMS = ("{text}", "{Topic}: {text}", "About {topic}. {text}", "{text} (Filed under {topic}.)")
"""Forms of a passage that does not name its topic: three of four do then."""


@dataclass(frozen=True)
class Passage:
    """A passage; `aspect` counts over all topics, and is −1 for what belongs to a topic alone."""

    topic: int
    aspect: int
    mark: str
    title: str
    text: str


def content():
    """Passages, and by aspect (topic, name of the topic, question)."""
    passages, aspects, topics, label = [], [], [], ""
    seen, draws = dict.fromkeys(TITLES, 0), generator(SEED, "forms")
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "#":
            topics.append(text)
        elif mark == "?":
            label, question = text.split(": ", 1)
            aspects.append((len(topics) - 1, topics[-1], question))
            seen = dict.fromkeys(TITLES, 0)
        else:
            about = topics[-1].capitalize() + ("" if mark == "-" else f": {label}")
            title = " ".join(text.split()[:4]).rstrip(",:") if mark == "!" else about
            title += TITLES[mark][seen[mark]]
            aspect = -1 if mark == "-" else len(aspects) - 1
            if mark != "!" and topics[-1] not in text.lower():
                form = FORMS[int(draws.integers(len(FORMS)))]
                text = form.format(text=text, topic=topics[-1], Topic=topics[-1].capitalize())
            passages.append(Passage(len(topics) - 1, aspect, mark, title, text))
            seen[mark] += 1
    return passages, aspects


def grade(passage, aspect, topic):
    """Grade of a passage for the question of an aspect."""
    if passage.mark == "!" or passage.topic != topic:
        return 0
    if passage.aspect != aspect:
        return 1
    return 3 if passage.mark == "=" else 2


def part_of(topic):
    """Name of the part of a topic's queries."""
    return next(name for name, rests in PARTS.items() if topic % 5 in rests)


def listed(passages, aspect, topic):
    """Places of the passages of one list: those of the topic, others of the same part, at random.

    Every third list has the passage that repeats its question: BM25 puts most of these first.
    """
    draws = generator(SEED, "sample texts", aspect)
    own = [
        at for at, one in enumerate(passages)
        if one.topic == topic and (one.mark != "!" or one.aspect != aspect or aspect % 3 == 0)
    ]  # fmt: skip
    others = [
        at for at, one in enumerate(passages)
        if one.topic != topic and part_of(one.topic) == part_of(topic)
    ]  # fmt: skip
    drawn = draws.choice(others, DOCUMENTS - len(own), replace=False).tolist()
    return draws.permutation(own + drawn)


def sizes(passage):
    """Features of a passage alone: words, letters, marks of punctuation, letters of a word."""
    words = passage.text.split()
    marks = sum(passage.text.count(mark) for mark in ".,;:")
    return len(words), len(passage.text), marks, max(map(len, words))


def indexed(passages, aspects, folder):
    """The passages as a text collection, for features."""
    empty = np.zeros(0, np.int32)
    facts = {
        "name": "sample-texts", "titles": TextColumn.of("" for _ in passages),
        "texts": TextColumn.of(one.text for one in passages),
        "doc_ids": TextColumn.of(map(str, range(len(passages)))),
        "query_ids": tuple(map(str, range(len(aspects)))),
        "queries": tuple(question for *_, question in aspects),
        "judged_offsets": offsets_of(np.zeros(len(aspects), np.int64)),
        "judged_ids": TextColumn.of([]), "judged": empty, "grades": empty,
    }  # fmt: skip
    collection = Collection(**facts)
    return IndexedCollection(Collection(**facts, digest=digest_of(collection)), Store(folder))


def write(directory):
    """Write LETOR text of the parts, and tables of documents and queries."""
    passages, aspects = content()
    names = [f"P{place:03d}" for place in generator(SEED, "names").permutation(len(passages)) + 1]
    order = [*PARTS]
    numbered = sorted(range(len(aspects)), key=lambda at: order.index(part_of(aspects[at][0])))
    lines = {part: [] for part in PARTS}
    queries = [("qid", "text", "tag")]
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        collection = indexed(passages, aspects, Path(folder))
        bm25 = retriever_entry("bm25").build(collection)
        for number, aspect in enumerate(numbered, start=1):
            topic, tag, question = aspects[aspect]
            queries.append((str(number), question, tag))
            found = bm25.search([question], len(passages))
            scores = np.zeros(len(passages))
            scores[found.documents] = found.scores
            places = listed(passages, aspect, topic)
            # Without the last one, matches in titles: only pages show titles
            of_words = candidates._of_words(collection, aspect, places)[:, :-1]
            table = np.column_stack(
                [scores[places], of_words, [sizes(passages[at]) for at in places]]
            )
            for place, cells in zip(places, table, strict=True):
                values = " ".join(f"{at}:{cell:.4g}" for at, cell in enumerate(cells, start=1))
                label = grade(passages[place], aspect, topic)
                line = f"{label} qid:{number} {values} #docid = {names[place]}"
                lines[part_of(topic)].append(line)
    for part, of_part in lines.items():
        (directory / f"{part}.txt").write_text("\n".join(of_part) + "\n", encoding="utf-8")
    rows = sorted((name, one.title, one.text) for name, one in zip(names, passages, strict=True))
    for name, table in (
        ("documents", [("document", "title", "text"), *rows]),
        ("queries", queries),
    ):
        with (directory / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(table)


if __name__ == "__main__":
    write(Path(sys.argv[1]))

"""Stored preferences that a judge makes and extends, live or by files of pairs and answers."""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from shuffleproof.core.aggregate import judge_questions, preference_store, preferences
from shuffleproof.core.aggregate.judge_questions import Ledger, Material, Plan, Question
from shuffleproof.core.aggregate.judges import LiveJudge
from shuffleproof.core.aggregate.preferences import UNKNOWN, Preferences, of_table
from shuffleproof.core.aggregate.reading import Answer, PreferenceFormat, answers
from shuffleproof.core.data import display_texts
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError, LetorError, UsageError, quoted
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.words import counted

BY_HAND = "answers"
"""The judge of answers that name none."""

Row = tuple[str, str, str, float, str]
"""Query, the document shown first, the other, how strongly the first is preferred, and by whom."""


@dataclass(frozen=True)
class Target:
    """The set that answers are put into.

    Attributes:
        name: of the set, which is made or extended.
        store: of answers and sets.
        data: what the data set is called.
    """

    name: str
    store: Store
    data: str

    def stored_preferences(self) -> Preferences | None:
        """The set; None: there is none yet.

        Raises:
            UsageError: the name means something else, or rankings, which no judge extends.
        """
        key = self.store.names().get(self.name)
        if key is None:
            return None
        if key.kind != preference_store.KIND:
            raise UsageError(f"the name {self.name} is taken by a {key.kind}; choose another")
        existing = preference_store.find(self.name, self.store)
        if existing.rankings:
            raise UsageError(
                f"{self.name} holds rankings, which a judge cannot extend; choose another name"
            )
        return existing

    def keep(self, judged_set: Preferences) -> Artefact:
        """Store a set under its content and let the name mean it."""
        rows = [
            getattr(judged_set, column).tobytes().hex() for column in ("bounds", *preferences.ROWS)
        ]
        content = {
            "items": judged_set.items,
            "queries": judged_set.query_ids,
            "notes": judged_set.notes,
        }
        recipe = {"judges": list(judged_set.judges), "data": self.data}
        key = key_of(
            preference_store.KIND, recipe, [key_of("judgments", content | {"rows": rows}).digest]
        )
        facts = {
            "queries": judged_set.queries, "items": judged_set.documents,
            "judgments": len(judged_set.value), "rankers": 0,
            "labelled": bool(judged_set.labels), "notes": list(judged_set.notes),
        }  # fmt: skip
        write = lambda target: preferences.save(judged_set, target)  # noqa: E731 (a name for one line)
        artefact = self.store.add(key, recipe, write, facts)
        self.store.set_name(self.name, artefact.key)
        return artefact

    def lock(self) -> AbstractContextManager[None]:
        """The lock to hold while the set is extended; others wait."""
        return self.store.lock(key_of("judging", {"name": self.name}))


@dataclass(frozen=True)
class AskingOutcome:
    """The outcome of putting questions to a judge.

    Attributes:
        preferences: all that the set holds now.
        artefact: where it is stored.
        asked: questions that were answered now.
        before: those of the plan that were answered before.
        malformed: query, a, b and answer of each malformed one.
        complete: whether all that the plan wants was answered.
    """

    preferences: Preferences
    artefact: Artefact
    asked: int
    before: int
    malformed: Sequence[Mapping[str, str]]
    complete: bool


def answers_of(
    stored: Preferences | None, material: Material, judge: str | None = None
) -> dict[Question, float]:
    """The answers of a judge (None: of all) that a set has, by question."""
    by_question: dict[Question, float] = {}
    if stored is None:
        return by_question
    places = [{name: at for at, name in enumerate(documents)} for documents in material.documents]
    queries = {name: at for at, name in enumerate(material.queries)}
    for (query, a, b, by), value in _shown_first(stored).items():
        at = queries.get(query)
        if at is not None and judge in {None, by} and {a, b} <= set(places[at]):
            by_question[at, places[at][a], places[at][b]] = value
    return by_question


def _shown_first(stored: Preferences) -> dict[tuple[str, str, str, str], float]:
    """How strongly the document shown first is preferred, by query, that, the other, and judge."""
    table = stored.table()
    table = table[table["first"] != UNKNOWN]
    turned = table["first"] == 1
    table[["a", "b"]] = np.where(turned.to_numpy()[:, None], table[["b", "a"]], table[["a", "b"]])
    value = np.where(turned, 1.0 - table["value"], table["value"])
    keys = table[["query", "a", "b", "judge"]].itertuples(index=False, name=None)
    return dict(zip(keys, value.tolist(), strict=True))


def with_answers(
    old: Preferences | None, material: Material, rows: Sequence[Row], notes: Sequence[str] = ()
) -> Preferences:
    """A set with more answers; all documents of each query that has one are its items."""
    table = pd.DataFrame(rows, columns=["query", "a", "b", "value", "judge"])
    table = table.assign(votes=1.0, first=0)
    items: dict[str, Sequence[str]] = {}
    grades: dict[str, dict[str, float]] = {}
    if old is not None:
        table = pd.concat([old.table(), table])
        items = dict(zip(old.query_ids, old.items, strict=True))
        for name, names, labels in zip(old.query_ids, old.items, old.labels, strict=False):
            grades[name] = dict(zip(names, labels.tolist(), strict=True))
    queried = {*table["query"], *items}
    for query, documents, labels in zip(
        material.queries, material.documents, material.labels, strict=True
    ):
        if query in queried:
            items[query] = list(dict.fromkeys([*items.get(query, ()), *documents]))
            graded = dict(zip(documents, labels.tolist(), strict=True))
            grades[query] = grades.get(query, {}) | graded
    all_notes = dict.fromkeys([*(old.notes if old else ()), *notes])
    return of_table(table, items, grades, old.judges if old else (), tuple(all_notes))


def material_of(lists: JudgedLists, fingerprint: str, store: Store) -> Material:
    """What judges are shown of test lists: ids, features and the texts that are known.

    Args:
        lists: of the documents.
        fingerprint: of the data set, which its side files are filed under.
        store: where those are.
    """
    side_texts = display_texts.find(fingerprint, store)
    texts = {} if side_texts is None else dict(side_texts.queries["text"])
    return Material.of(lists, {str(name): str(text) for name, text in texts.items()})


def ask(
    target: Target, judge: LiveJudge, material: Material, plan: Plan
) -> Generator[Progress, None, AskingOutcome]:
    """Ask a judge what a plan wants, and make or extend a set.

    However it ends, the set holds all answers that came. Two that ask for one set at the same time
    wait for each other.

    Args:
        target: where answers go.
        judge: who is asked.
        material: what is shown.
        plan: which pairs, and on what terms.

    Raises:
        DataError: the judge does not answer, or documents cannot be told apart.
    """
    if double := judge_questions.twice_named(material):
        raise DataError(target.data, double, "Give each document of a query its own id.")
    with target.lock():
        old = target.stored_preferences()
        before = answers_of(old, material, judge.name)
        ledger = Ledger.of(target.store, material, judge, before)
        total, complete = plan.max_calls(material), False
        try:
            complete = yield from judge_questions.ask_plan(
                plan,
                ledger,
                lambda questions: judge_questions.ask_judge(questions, judge, ledger, plan, total),
            )
        finally:
            result = _with_answers(old, ledger, judge.name, before)
            if result is not None:
                artefact = target.keep(result)
        if result is None:
            remedy = "Take queries of two documents or more, or mend what the judge answers."
            raise DataError(
                target.data, f"no answer of {_answered_in_words(ledger)} is of use", remedy
            )
    count = len(ledger.newly_answered)
    return AskingOutcome(
        result,
        artefact,
        count,
        len(ledger.answers) - count,
        judge_questions.malformed_answers(ledger),
        complete,
    )


def _answered_in_words(ledger: Ledger) -> str:
    """How many questions were answered, with a malformed answer where there is one."""
    count = counted(len(ledger.answers), "question")
    example = next(iter(ledger.malformed.values()), "")
    return f"{count} (malformed: {quoted(example)})" if example else count


def answered_before(target: Target, judge: LiveJudge, material: Material, plan: Plan) -> int | None:
    """Answers of a plan that are there already; None: an aggregator decides what it asks."""
    if plan.pairs not in {judge_questions.ALL, judge_questions.SAMPLED}:
        return None
    before = answers_of(target.stored_preferences(), material, judge.name)
    ledger = Ledger.of(target.store, material, judge, before)
    return sum(map(ledger.knows, plan.fixed(material)))


def _with_answers(
    old: Preferences | None, ledger: Ledger, judge: str, before: Mapping[Question, float]
) -> Preferences | None:
    """The set with what a ledger found; None: it has nothing."""
    material = ledger.material
    rows = [
        (material.queries[query], documents[a], documents[b], value, judge)
        for (query, a, b), value in ledger.answers.items()
        for documents in [material.documents[query]]
        if value is not None and (query, a, b) not in before
    ]
    bad = counted(len(ledger.malformed), "malformed answer")
    notes = [f"{bad} of {judge} left out."] if ledger.malformed else []
    if old is not None:
        suffix = f"of {judge} left out."
        other_notes = tuple(note for note in old.notes if not note.endswith(suffix))
        old = replace(old, notes=other_notes)
    return with_answers(old, material, rows, notes) if rows or old is not None else None


def write_next(  # noqa: PLR0913, PLR0917 (the file, which pairs, how many, for whom)
    path: Path, target: Target, material: Material, plan: Plan, count: int, judge: str
) -> int:
    """Write the next pairs of a plan that a set lacks as JSON lines; how many there are.

    `preference` is null in each: how strongly `a`, which is to be shown first, is preferred.
    """
    ledger = Ledger(material, "", None, answers_of(target.stored_preferences(), material, judge))
    questions = judge_questions.next_questions(plan, ledger, count)
    with path.open("w", encoding="utf-8") as file:
        for query, a, b in questions:
            documents, texts = material.documents[query], material.texts[query]
            line = {
                "query": material.queries[query], "a": documents[a], "b": documents[b],
                "preference": None,
                **({"judge": judge} if judge != BY_HAND else {}),
                "query_text": material.query_texts[query],
                "a_text": texts[a], "b_text": texts[b],
            }  # fmt: skip
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return len(questions)


def read_answers(path: Path, target: Target, material: Material, judge: str) -> AskingOutcome:
    """Put the answers of a file into a set, which is made where there is none.

    Raises:
        LetorError: an unknown query or document, or another answer than one that is there already.
    """
    with target.lock():
        old = target.stored_preferences()
        existing = _shown_first(old) if old else {}
        documents = dict(zip(material.queries, material.documents, strict=True))
        rows: list[Row] = []
        malformed: list[dict[str, str]] = []
        count = 0
        for at, line, answer in answers(path, PreferenceFormat()):
            if isinstance(answer, str):
                malformed.append({"place": f"{path}:{at}", "answer": answer})
                continue
            if fault := _fault(answer, documents):
                remedy = f'Take ids of {target.data}, and say "preference": 0 to 1, a, b or tie.'
                raise LetorError(path, at, line, fault, remedy)
            turned = answer.first in {"b", answer.b}
            a, b = (answer.b, answer.a) if turned else (answer.a, answer.b)
            value = 1.0 - answer.value if turned else answer.value
            key = answer.query, a, b, answer.judge or judge
            if key not in existing:
                existing[key] = value
                rows.append((answer.query, a, b, value, answer.judge or judge))
            elif existing[key] != value:
                finding = f"another answer to a pair that has {existing[key]:g} already"
                remedy = "Leave one of them out, or name another judge (--judge)."
                raise LetorError(path, at, line, finding, remedy)
            count += 1
        if not rows and old is None:
            remedy = "Fill in the preferences: a number from 0 to 1, a, b or tie."
            raise DataError(str(path), "no answer in it", remedy)
        bad = counted(len(malformed), "malformed answer")
        notes = [f"{bad} of {path.name} left out."] if malformed else []
        result = with_answers(old, material, rows, notes)
        artefact = target.keep(result)
    return AskingOutcome(
        result, artefact, len(rows), count - len(rows), malformed, complete=not malformed
    )


def _fault(answer: Answer, documents: Mapping[str, Sequence[str]]) -> str:
    """What keeps a line from being an answer, in words; empty: nothing."""
    if answer.query not in documents:
        return f"the unknown query {quoted(answer.query)}"
    for name in (answer.a, answer.b):
        if name not in documents[answer.query]:
            return f"the unknown document {quoted(name)} of query {answer.query}"
    if answer.a == answer.b:
        return f"{quoted(answer.a)} against itself"
    return "" if answer.stated else "no preference"

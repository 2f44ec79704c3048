"""Stored preferences that a live judge makes and extends."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pandas as pd

from shuffleproof.core.aggregate import judge_questions, preference_store, preferences
from shuffleproof.core.aggregate.judge_questions import Ledger, Material, Plan, Question
from shuffleproof.core.aggregate.judges import LiveJudge
from shuffleproof.core.aggregate.preferences import UNKNOWN, Preferences, of_table
from shuffleproof.core.data import display_texts
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError, UsageError, quoted
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.words import counted


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
            raise UsageError(f"the name {self.name} belongs to a {key.kind}; choose another")
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
        artefact = preference_store.add(judged_set, key, recipe, self.store)
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


def _answered(stored: Preferences | None, material: Material, judge: str) -> dict[Question, float]:
    """The answers of a judge that a set has, by question."""
    if stored is None:
        return {}
    table = stored.table()
    table = table[(table["first"] != UNKNOWN) & (table["judge"] == judge)]
    queries = {name: at for at, name in enumerate(material.queries)}
    places = [{name: at for at, name in enumerate(documents)} for documents in material.documents]
    by_question: dict[Question, float] = {}
    columns = (table[name].tolist() for name in ("query", "a", "b", "value", "first"))
    for name, a, b, value, turned in zip(*columns, strict=True):
        query = queries.get(name)
        # The set may hold answers on documents that these lists do not have
        if query is not None and {a, b} <= places[query].keys():
            one, other = places[query][a], places[query][b]
            shown = (query, other, one) if turned else (query, one, other)
            # Stored values are for `a`; a question asks for the document that is shown first
            by_question[shown] = 1.0 - value if turned else value
    return by_question


def material_of(lists: JudgedLists, fingerprint: str, store: Store) -> Material:
    """Material of test lists for judges: ids, features and texts.

    Args:
        lists: of the documents.
        fingerprint: of the data set, which its side files are filed under.
        store: where those are.
    """
    return Material.of(lists, display_texts.query_texts(fingerprint, store))


def ask(
    target: Target, judge: LiveJudge, material: Material, plan: Plan
) -> Generator[Progress, None, AskingOutcome]:
    """Ask a judge what a plan wants, and make or extend a set.

    However it ends, the set holds all answers that came. Two that ask for one set at the same time
    wait for each other.

    Args:
        target: where answers go.
        judge: of the calls.
        material: of the questions.
        plan: which pairs, and on what terms.

    Raises:
        DataError: the judge does not answer, or documents share an id.
    """
    if double := judge_questions.twice_named(material):
        raise DataError(target.data, double, "Give each document of a query its own id.")
    with target.lock():
        old = target.stored_preferences()
        before = _answered(old, material, judge.name)
        ledger = Ledger.of(target.store, material, judge, before)
        total, complete = plan.max_calls(material), False
        try:
            complete = yield from judge_questions.ask_plan(
                plan,
                ledger,
                lambda questions: judge_questions.ask_judge(questions, judge, ledger, plan, total),
            )
        finally:
            # Also after Ctrl-C or a failed call: paid answers are never lost
            result = _extended(old, ledger, judge.name, before)
            if result is not None:
                artefact = target.keep(result)
        if result is None:
            asked = counted(len(ledger.answers), "question")
            example = next(iter(ledger.malformed.values()), "")
            malformed = f" (malformed: {quoted(example)})" if example else ""
            remedy = "Take queries of two documents or more, or mend what the judge answers."
            raise DataError(target.data, f"no answer of {asked}{malformed} is of use", remedy)
    count = len(ledger.newly_answered)
    return AskingOutcome(
        result,
        artefact,
        count,
        len(ledger.answers) - count,
        judge_questions.malformed_answers(ledger),
        complete,
    )


def answered_before(target: Target, judge: LiveJudge, material: Material, plan: Plan) -> int | None:
    """Answers of a plan that are there already; None: an aggregator decides what it asks."""
    if plan.pairs not in {judge_questions.ALL, judge_questions.SAMPLED}:
        return None
    before = _answered(target.stored_preferences(), material, judge.name)
    ledger = Ledger.of(target.store, material, judge, before)
    return sum(map(ledger.knows, plan.fixed(material)))


def _extended(
    old: Preferences | None, ledger: Ledger, judge: str, before: Mapping[Question, float]
) -> Preferences | None:
    """The set with what a ledger found; None: it has nothing.

    All documents of each query that has an answer are its items.
    """
    material = ledger.material
    rows = [
        (material.queries[query], documents[a], documents[b], value, judge)
        for (query, a, b), value in ledger.answers.items()
        for documents in [material.documents[query]]
        if value is not None and (query, a, b) not in before
    ]
    if old is None and not rows:
        return None
    table = pd.DataFrame(rows, columns=["query", "a", "b", "value", "judge"])
    table = table.assign(votes=1.0, first=0)
    items: dict[str, Sequence[str]] = {}
    grades: dict[str, dict[str, float]] = {}
    notes: list[str] = []
    left_out = f"of {judge} left out."
    if old is not None:
        table = pd.concat([old.table(), table])
        items = dict(zip(old.query_ids, old.items, strict=True))
        for name, names, labels in zip(old.query_ids, old.items, old.labels, strict=False):
            grades[name] = dict(zip(names, labels.tolist(), strict=True))
        # The count of malformed answers is replaced, not added to
        notes = [note for note in old.notes if not note.endswith(left_out)]
    if ledger.malformed:
        notes.append(f"{counted(len(ledger.malformed), 'malformed answer')} {left_out}")
    queried = {*table["query"], *items}
    for query, documents, labels in zip(
        material.queries, material.documents, material.labels, strict=True
    ):
        if query in queried:
            items[query] = list(dict.fromkeys([*items.get(query, ()), *documents]))
            graded = dict(zip(documents, labels.tolist(), strict=True))
            grades[query] = grades.get(query, {}) | graded
    return of_table(table, items, grades, old.judges if old else (), notes)

"""The commands about text collections: read in, examined, searched."""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from shuffleproof.core.cli.answer import Answer, table
from shuffleproof.core.cli.data import check_name, findings_answer, named_once
from shuffleproof.core.cli.open import run_shown, store_of, use_device
from shuffleproof.core.data import trec
from shuffleproof.core.data.advice import line
from shuffleproof.core.data.doctor import Severity
from shuffleproof.core.errors import UsageError
from shuffleproof.core.parameters import parameters, parts_of
from shuffleproof.core.retrieval import candidates as bridge
from shuffleproof.core.retrieval import ingest as collections
from shuffleproof.core.retrieval.doctor import Finding, examine_collection
from shuffleproof.core.retrieval.recipe import Analysis, CollectionFormat
from shuffleproof.core.retrieval.registry import IndexedCollection, retriever_entry
from shuffleproof.core.store.manifest import Artefact

if TYPE_CHECKING:
    from shuffleproof.core.retrieval.weak_training import Learner
    from shuffleproof.core.studies.dry_run import DryRun


def ingest(arguments: argparse.Namespace) -> Answer:
    """`ingest-collection`: documents, queries and judgments into the store, and what they hide."""
    store = store_of(arguments)
    how, analysis = (_declared(kind, arguments) for kind in (CollectionFormat, Analysis))

    def work(name: str | None) -> list[Artefact]:
        return [run_shown("ingest", collections.ingest(arguments.path, name, store, how, analysis))]

    (artefact,) = named_once(arguments.name, store, work)
    findings = examine_collection(_indexed(arguments.name, arguments))
    facts = {"name": arguments.name, "key": str(artefact.key), "format": artefact.recipe["format"]}
    facts |= {name: artefact.facts[name] for name in ("documents", "queries", "judgments")}
    remarks = {
        "notes": artefact.facts["notes"],
        "findings": [asdict(finding) for finding in findings],
    }
    answer = findings_answer(facts, remarks["findings"], facts, _lines(findings))
    return replace(answer, json=facts | remarks, exit_code=0)


def _declared(kind: type, arguments: argparse.Namespace) -> Any:
    """Values of its flags, or its own defaults."""
    given = {field.name: getattr(arguments, field.name) for field in parameters(kind)}
    return kind(**{name: value for name, value in given.items() if value is not None})


def _indexed(name: str, arguments: argparse.Namespace) -> IndexedCollection:
    """The collection of a name in the store that the flags name."""
    store = store_of(arguments)
    return IndexedCollection(collections.find(name, store), store)


def doctor(arguments: argparse.Namespace) -> Answer:
    """`doctor-collection`: what a collection hides; 3 where it spoils what is measured on it."""
    indexed = _indexed(arguments.collection, arguments)
    findings, collection = examine_collection(indexed), indexed.collection
    facts = {
        "documents": len(collection), "queries": len(collection.query_ids),
        "judgments": len(collection.judged),
    }  # fmt: skip
    rows = [asdict(finding) for finding in findings]
    return findings_answer(facts, rows, facts, _lines(findings))


def _lines(findings: Sequence[Finding]) -> list[tuple[Severity, str]]:
    return [(one.severity, line(one.severity, one.message, one.action)) for one in findings]


def search(arguments: argparse.Namespace) -> Answer:
    """`search`: what each retriever finds for a text."""
    names = _retrievers(arguments)
    entries = [retriever_entry(name) for name in names]
    indexed = _indexed(arguments.collection, arguments)
    collection = indexed.collection
    unknown = int(indexed.tokens.encode([arguments.query]).unknown[0])
    rows: list[dict[str, Any]] = []
    for entry in entries:
        documents, scores = entry.build(indexed).search([arguments.query], arguments.k).of(0)
        for rank, (place, score) in enumerate(
            zip(documents.tolist(), scores.tolist(), strict=True), start=1
        ):
            rows.append(
                {"retriever": entry.name, "rank": rank, "document": collection.doc_ids[place],
                 "score": score, "title": collection.titles[place],
                 "text": collection.snippet(place)}
            )  # fmt: skip
    lines = [row | {"title": str(row["title"] or row["text"])[:60]} for row in rows]
    shown = [{name: line[name] for name in line if name != "text"} for line in lines]
    note = f"\n\nQuery words missing in the collection: {unknown}." if unknown else ""
    answer = {"collection": arguments.collection, "query": arguments.query, "unknown": unknown}
    return Answer(answer | {"rows": rows}, table(shown) + note)


def _retrievers(arguments: argparse.Namespace) -> list[str]:
    """The retrievers that --by names, at least one."""
    names = parts_of(arguments.by)
    if not names:
        raise UsageError("--by is empty: name retrievers of `list retrievers`")
    return names


def candidates(arguments: argparse.Namespace) -> Answer:
    """`candidates`: a data set of a collection's candidates, features and judgments."""
    check_name(arguments.name, store_of(arguments))
    indexed = _indexed(arguments.collection, arguments)
    by = _retrievers(arguments)
    work = bridge.make_candidates(
        indexed, arguments.depth, arguments.name, by, arguments.seed, words=arguments.features
    )
    artefact = run_shown("candidates", work)
    facts = {"name": arguments.name, "key": str(artefact.key)}
    facts |= {name: artefact.facts[name] for name in ("queries", "documents", "features")}
    columns = (*by, *(bridge.OF_WORDS if arguments.features else ()))
    features = [{"id": place, "feature": column} for place, column in enumerate(columns, start=1)]
    text = f"{table(facts)}\n\n{table(features)}"
    return Answer(facts | {"rows": features, "notes": artefact.facts["notes"]}, text)


def export_collection(arguments: argparse.Namespace) -> Answer:
    """`export COLLECTION --run FILE`: the run of a retriever's answers to its queries."""
    from shuffleproof.core.studies.listless.collection_study import cross_fitted_search  # noqa: PLC0415 (loads the studies)

    entry = retriever_entry((arguments.by or "bm25").strip().casefold())
    use_device(arguments)
    indexed, out = _indexed(arguments.what, arguments), arguments.run
    out.parent.mkdir(parents=True, exist_ok=True)
    ids, ranked = indexed.collection.doc_ids, cross_fitted_search(indexed, entry, arguments.k)
    rows = (
        (topic, ids[document], rank, score)
        for query, topic in enumerate(indexed.collection.query_ids)
        for rank, (document, score) in enumerate(
            zip(*(array.tolist() for array in ranked.of(query)), strict=True), start=1
        )
    )
    trec.write_rows(out, rows, entry.name)
    facts = {"retriever": entry.name, "rows": len(ranked.documents)}
    return Answer({"out": str(out), "bytes": out.stat().st_size, **facts})


def train(arguments: argparse.Namespace, changes: Mapping[str, str]) -> Answer:
    """`train snrm`, fnrm or cnrm: fit what searches to a collection, or find it.

    Args:
        arguments: of the command; --data names a collection.
        changes: fields of its recipe.

    Raises:
        UsageError: a flag that only rankers of lists take.
    """
    use_device(arguments)
    learner, indexed, recipe = _training_of(arguments, changes)
    if arguments.executor is not None:
        raise UsageError("retrievers train without workers: leave out --executor")
    cached = indexed.store.find(learner.key_of_training(indexed, recipe)) is not None
    start = time.perf_counter()
    artefact = run_shown(learner.kind, learner.training(indexed, recipe))
    facts = artefact.facts
    answer = {
        "ranker": learner.kind, "artefact": str(artefact.key), "cached": cached,
        "epochs": facts["steps"], "valid": {}, "gates": facts.get("gates", {}),
        "last": facts["last"], "seconds": 0.0 if cached else time.perf_counter() - start,
    }  # fmt: skip
    head = {name: answer[name] for name in ("artefact", "cached", "seconds")}
    if not answer["gates"]:
        depth = recipe.training.first_stage_depth
        sentence = f"The ranker reorders the top {depth} of query likelihood."
        return Answer(answer, f"{sentence}\n\n{table(head | facts['last'])}")
    dense, failed = facts["gates"]["dense_in_disguise"], "; ".join(facts["failed"])
    sentence = f"Not sparse: {failed}." if dense else "Sparse: all checks passed."
    return Answer(answer, f"{sentence}\n\n{table(head)}\n\n{table(facts['gates'])}")


def dry_retriever(arguments: argparse.Namespace, changes: Mapping[str, str]) -> "DryRun":
    """The training of a retriever, stored or not; its time is not recorded."""
    from shuffleproof.core.studies.dry_run import DryRun, NeededTraining  # noqa: PLC0415 (only a dry run)

    learner, indexed, recipe = _training_of(arguments, changes)
    key = learner.key_of_training(indexed, recipe)
    stored = indexed.store.find(key) is not None
    return DryRun({str(key): NeededTraining(learner.kind, stored)})


def _training_of(
    arguments: argparse.Namespace, changes: Mapping[str, str]
) -> "tuple[Learner[Any, Any], IndexedCollection, Any]":
    """Retriever, collection and recipe that `train` names."""
    entry = retriever_entry(arguments.ranker)
    learner = entry.learner
    preset = entry.preset or arguments.preset or entry.presets[0]
    recipe = learner.preset(preset).with_fields(changes)
    return learner, _indexed(arguments.data, arguments), recipe

"""Comparison of external TREC runs, measured like trained rankers.

There are no features and no ranker to call: only the retrieved documents are compared. The result
is a benchmark with one seed and one fold, so that its table, tests and pictures are the same.
Measures have trec_eval's conventions by default; ties by row are by line of the run.
"""

import shlex
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32, Int64

from shuffleproof.core.data import ragged, trec
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.data.trec import Run
from shuffleproof.core.errors import DataError
from shuffleproof.core.metrics.bundles import BUNDLES, under
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import LARGEST_GRADE, evaluate
from shuffleproof.core.metrics.tied import merged_in_words, tied_in_words, tied_share
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers.name import REFERENCES
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import conventions
from shuffleproof.core.studies.kinds.benchmark.query import FILE, arrays_of
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS
from shuffleproof.core.studies.kinds.benchmark.study import KIND
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import counted

MEASURES = ("NDCG@10", "AP", "P@10", "RR")
CONVENTIONS = "trec_eval"
"""Default conventions of the measures, since the runs have trec_eval's format."""


@dataclass(frozen=True)
class JudgedRuns:
    """Judgments and runs over the same topics.

    Attributes:
        dataset: one row per document, without features: all judged or retrieved documents.
        lists: retrieved documents of each run, by its name; missing topics are empty lists.
        scores: of each run's candidates, float64.
    """

    dataset: RankingDataset
    lists: Mapping[str, CandidateLists]
    scores: Mapping[str, Any]


def _label(grade: int | None) -> int:
    """Label of a judgment: −1 outside the pool, −2 in the pool but not judged (grade below 0).

    trec_eval needs the difference only for the inferred average precision.
    """
    return -1 if grade is None else -2 if grade < 0 else grade


def judge_runs(qrels: Mapping[str, Mapping[str, int]], runs: Mapping[str, Run]) -> JudgedRuns:
    """Align runs with judgments; every judged topic counts, retrieved or not.

    Unjudged documents have a negative grade. They are not relevant, but Bpref and Judged
    distinguish them from judged documents of grade 0.

    Raises:
        DataError: no topic of the runs is judged.
    """
    topics, all_runs = sorted(qrels), list(runs.values())
    if not any(topic in run.scores for topic in topics for run in all_runs):
        raise DataError(
            "qrels", "no topic of the runs is judged in it", "Use the judgments of these topics."
        )
    row = count()
    rows = {
        topic: {
            name: next(row)
            for name in sorted(
                {*qrels[topic]}.union(*(run.scores.get(topic, ()) for run in all_runs))
            )
        }
        for topic in topics
    }
    labels = [_label(qrels[topic].get(name)) for topic in topics for name in rows[topic]]
    dataset = RankingDataset(
        features=np.zeros((len(labels), 0), dtype=np.float32),
        labels=np.array(labels, dtype=np.float32),
        offsets=_offsets(rows.values()),
        query_ids=tuple(topics),
        feature_ids=(),
        doc_ids=TextColumn.of([name for topic in topics for name in rows[topic]]),
    )
    lists, scores = {}, {}
    for label, run in runs.items():
        retrieved = {topic: run.scores.get(topic, {}) for topic in topics}
        retrieved_rows = [rows[topic][name] for topic in topics for name in retrieved[topic]]
        lists[label] = CandidateLists.unranked(
            _offsets(retrieved.values()), np.array(retrieved_rows, dtype=np.int64)
        )
        scores[label] = np.array(
            [score for of_topic in retrieved.values() for score in of_topic.values()], float
        )
    return JudgedRuns(dataset, lists, scores)


def _offsets(topics: Iterable[Collection[str]]) -> Int64[np.ndarray, " bounds"]:
    return ragged.offsets_of(np.array([len(names) for names in topics], dtype=np.int64))


def compare_runs(
    qrels: Path,
    runs: Sequence[Path],
    measures: Sequence[str] = MEASURES,
    bundle: str | None = CONVENTIONS,
) -> StudyResult:
    """Read judgments and runs and measure every topic; arguments as `measure_runs`."""
    return run_to_end(measure_runs(qrels, runs, measures, bundle))


def measure_runs(
    qrels: Path,
    runs: Sequence[Path],
    measures: Sequence[str] = MEASURES,
    bundle: str | None = CONVENTIONS,
) -> Generator[Progress, None, StudyResult]:
    """Read judgments and runs, then measure every topic of every run; yields progress per file.

    A run is named by its tag, or by its file where tags repeat.

    Args:
        qrels: the judgments.
        runs: the files.
        measures: the columns.
        bundle: default conventions of measures; None: the program's defaults.

    Raises:
        LetorError, DataError: a malformed file, or a run without judged topics.
    """
    texts, steps = tuple(under(text, bundle) for text in measures), len(runs) + 2
    grades = trec.read_qrels(qrels)
    yield Progress(1, steps, "files")
    parsed: list[tuple[Path, Run]] = []
    for path in runs:
        parsed.append((path, trec.read_run(path)))
        check_judged(*parsed[-1], qrels, grades)
        yield Progress(len(parsed) + 1, steps, "files")
    labels = _labels(parsed)
    by_label = {label: run for label, (_, run) in zip(labels, parsed, strict=True)}
    of_files = {
        "files": {label: path.name for label, (path, _) in zip(labels, parsed, strict=True)},
        "unjudged": {
            name: len(run.scores.keys() - grades.keys()) for name, run in by_label.items()
        },
        "merged": {name: run.merged for name, run in by_label.items()},
        "contradicting": {name: [run.contradicting, run.lines] for name, run in by_label.items()},
    }
    result = _study_result(judge_runs(grades, by_label), by_label, texts, qrels.name, of_files)
    yield Progress(steps, steps, "files")
    return result


def _study_result(
    whole: JudgedRuns,
    runs: Mapping[str, Run],
    texts: Sequence[str],
    data: str,
    of_files: Mapping[str, Any],
) -> StudyResult:
    # Extra stored measures must not refuse grades that the requested measures accept
    high = float(whole.dataset.labels.max(initial=0)) > LARGEST_GRADE
    stored = conventions.stored_measures(texts, () if high else conventions.KEPT)
    parsed = [Measure.parse(text) for text in stored]
    values = [
        evaluate_run(parsed, whole.dataset, lists, whole.scores[label])
        for label, lists in whole.lists.items()
    ]
    trials = pd.DataFrame(
        {
            "ranker": list(runs), "family": KIND, "level": 0.0, "draw": 0, "tau": 1.0,
            "set_size": [float(whole.lists[label].lengths.mean()) for label in runs],
            "seconds": 0.0,
        }
    )  # fmt: skip
    recipe = {
        "kind": KIND,
        "runs": {label: key_of("run", run.scores).digest for label, run in runs.items()},
        "qrels": whole.dataset.fingerprint,
        "measures": list(texts),
        "stored": list(stored),
    } | _precision(whole)
    topics = len(whole.dataset.query_ids)
    facts = {
        "data": data,
        "folds": [{"name": data, "start": 0, "stop": topics}],
        "fingerprints": [],
        "queries": topics,
        "groups": dict.fromkeys(runs, GROUPS[-1]),
        "missing": {label: int((whole.lists[label].lengths == 0).sum()) for label in runs},
        "tied": {
            label: tied_share(whole.lists[label].offsets, whole.scores[label]) for label in runs
        },
        **of_files,
    }
    files = {FILE: arrays_of(whole.dataset, whole.lists, whole.scores)}
    per_query = np.stack(values).astype(np.float32)
    return StudyResult(recipe, trials, per_query, whole.dataset.query_ids, facts, files)


def conventions_in_words(bundle: str) -> str:
    """Sentence with the default conventions of measures."""
    return f"Conventions: {bundle}, unless a measure states its own. Others: --conventions."


def warnings(facts: Mapping[str, Any]) -> list[str]:
    """Warnings about the runs that affect the numbers; older comparisons lack `tied`."""
    contradicting = [
        f"Rank and score of {run} disagree in {count:,} of {lines:,} lines; "
        "documents are sorted by score."
        for run, (count, lines) in facts.get("contradicting", {}).items()
        if count
    ]
    return uncovered_topics(facts) + contradicting + tied_in_words(facts.get("tied", {}))


def uncovered_topics(facts: Mapping[str, Any]) -> list[str]:
    """Sentences on topics that only the judgments or only a run has, and on ties from rounding.

    The facts of older comparisons lack `unjudged` and `merged`.

    >>> facts = {"queries": 100, "missing": {"a": 99, "b": 0}, "unjudged": {"a": 2, "b": 0}}
    >>> for sentence in uncovered_topics(facts):
    ...     print(sentence)
    a answers 1 of the 100 judged topics: the other 99 count as nothing retrieved.
    2 topics of a are not judged: they are left out.
    >>> uncovered_topics({"queries": 100, "missing": {"b": 0}})
    []
    """
    judged_topics = counted(facts["queries"], "judged topic")
    sentences = [
        f"{run} answers {facts['queries'] - count:,} of the {judged_topics}: the other {count:,} "
        f"{'counts' if count == 1 else 'count'} as nothing retrieved."
        for run, count in facts["missing"].items()
        if count
    ]
    sentences += [
        f"{counted(count, 'topic')} of {run} {'is' if count == 1 else 'are'} not judged: "
        f"{'it is' if count == 1 else 'they are'} left out."
        for run, count in facts.get("unjudged", {}).items()
        if count
    ]
    return sentences + [
        merged_in_words(run, count) for run, count in facts.get("merged", {}).items() if count
    ]


def keep(result: StudyResult, store: Store) -> Artefact:
    """Store a comparison like any study; the same files give the same key."""
    key = key_of("study", result.recipe)
    return store.add(key, result.recipe, result.save, result.facts)


def _precision(whole: JudgedRuns) -> dict[str, str]:
    """Addition to the key if float32 scores would have ranked differently; else empty."""
    with np.errstate(over="ignore"):
        alike = all(
            np.array_equal(
                ragged.competition_ranks(whole.lists[label].offsets, scores),
                ragged.competition_ranks(whole.lists[label].offsets, scores.astype(np.float32)),
            )
            for label, scores in whole.scores.items()
        )
    return {} if alike else {"scores": "float64"}


def evaluate_run(
    measures: Sequence[Measure],
    dataset: RankingDataset,
    lists: CandidateLists,
    scores: Float[np.ndarray, " candidates"],
) -> Float32[np.ndarray, "measures topics"]:
    """Every measure of every topic of a run; ties by row are by line, the first line on top."""
    row = np.array([measure.ties == "row" for measure in measures], dtype=bool)
    values = np.empty((len(measures), len(lists)), dtype=np.float32)
    for chosen, ranked in (
        (row, in_order(lists, scores, np.arange(len(scores)))),
        (~row, as_ranked(lists, scores)),
    ):
        kept = [measure for measure, wanted in zip(measures, chosen, strict=True) if wanted]
        values[chosen] = evaluate(kept, dataset, lists, ranked)
    return values


def in_order(
    lists: CandidateLists,
    scores: Float[np.ndarray, " candidates"],
    ties: Int64[np.ndarray, " candidates"],
) -> Float32[np.ndarray, " candidates"]:
    """Float32 scores without ties, in the order of score, then of `ties`."""
    order = ragged.order_within(lists.offsets, -scores, ties)
    unique = np.empty(len(scores), dtype=np.float32)
    unique[order] = -ragged.places_of(lists.offsets)
    return unique


def as_ranked(
    lists: CandidateLists, scores: Float[np.ndarray, " candidates"]
) -> Float32[np.ndarray, " candidates"]:
    """Float32 scores with the same order and ties, which is all that measures read."""
    return -ragged.competition_ranks(lists.offsets, scores).astype(np.float32)


def _labels(runs: Sequence[tuple[Path, Run]]) -> list[str]:
    """Unique names of the runs: tag, else file name, else file name and position."""
    tags = [run.tag for _, run in runs]
    files = [path.name for path, _ in runs]
    labels: list[str] = []
    for place, (tag, file) in enumerate(zip(tags, files, strict=True), start=1):
        tagged = bool(tag) and tags.count(tag) == 1 and tag not in (*files, *REFERENCES)
        name = tag if tagged else file
        unique = tagged or files.count(file) == 1
        labels.append(name if unique and name not in REFERENCES else f"{name} ({place})")
    return labels


def check_judged(
    path: Path, run: Run, qrels: Path, grades: Mapping[str, Mapping[str, int]]
) -> None:
    """Refuse a run of other topics or documents than the judged ones.

    Raises:
        DataError: no topic, or no document, is judged.
    """
    shared = [topic for topic in run.scores if topic in grades]
    remedy = "Use the judgments that belong to the runs."
    if not shared:
        run_topic, judged_topic = next(iter(run.scores)), next(iter(grades))
        finding = (
            f"no topic of it is judged in {qrels.name} (its first is {run_topic}, "
            f"theirs {judged_topic})"
        )
        raise DataError(str(path), finding, remedy)
    if not any(grades[topic].keys() & run.scores[topic].keys() for topic in shared):
        finding = f"none of its documents is judged in {qrels.name}, though the topics are"
        raise DataError(str(path), finding, remedy)


def is_of_runs(recipe: Mapping[str, Any]) -> bool:
    """True if a benchmark compares runs from files instead of rankers.

    >>> is_of_runs({"kind": "benchmark", "runs": {"bm25": "…"}}), is_of_runs({"rows": []})
    (True, False)
    """
    return "runs" in recipe


def runs_command(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Command that repeats the comparison, without default measures.

    >>> facts = {"data": "qrels.txt", "files": {"bm25": "input.bm25.gz"}}
    >>> runs_command({"runs": {"bm25": "…"}, "measures": ["AP(ties=trec)", "RR"]}, facts)
    "shuffleproof runs --qrels qrels.txt input.bm25.gz --measures 'AP,RR(ties=averaged)'"
    """
    words = ["shuffleproof", "runs", "--qrels", str(facts["data"]), *_files(recipe, facts)]
    measures = _measure_texts(recipe)
    if measures != list(MEASURES):
        words += ["--measures", ",".join(measures)]
    return shlex.join(words)


def runs_python(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Python lines that compare the runs and print their table; arguments as the command's."""
    lines = [
        "from pathlib import Path",
        "",
        "from shuffleproof.core.store.artefacts import default_store",
        "from shuffleproof.core.studies.kinds.benchmark import outside_runs, sections",
        "",
        f"qrels = Path({str(facts['data'])!r})",
        f"runs = [Path(name) for name in {_files(recipe, facts)!r}]",
        f"result = outside_runs.compare_runs(qrels, runs, {_measure_texts(recipe)!r})",
        "print(outside_runs.keep(result, default_store()).key)",
        "print(sections.markdown(result, result.measures, []))",
    ]
    return "\n".join(lines) + "\n"


def _measure_texts(recipe: Mapping[str, Any]) -> list[str]:
    """Measures of a comparison, written relative to CONVENTIONS."""
    usual = BUNDLES[CONVENTIONS].conventions
    return [Measure.parse(text).text_under(usual) for text in recipe["measures"]]


def _files(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """File names of the runs; older comparisons recorded only the names of the runs."""
    files = facts.get("files", {})
    return [str(files.get(name, name)) for name in recipe["runs"]]

"""What the keys of every command's --json mean; `list answers` prints it.

Beside `schema` ("shuffleproof" and the command) and `version`. A key may be added at any time;
`core.cli.answer.VERSION` is counted up where one goes or changes its meaning. NaN is null.
"""

from collections.abc import Mapping

_RESULT = {
    "result": "key of the stored study",
    "summary": "a row a ranker, family, level and measure: tau really left, set size, mean over "
    "queries and draws, 95 % bootstrap interval (low, high), queries that count (n)",
}
_CONVENTION = {"convention": "the measure's convention in words"}
_TABLE = {
    "table": "a row a ranker and measure: mean over queries, mean_of_folds, sd over seeds and "
    "folds, runs, n, best, marks",
    "test": "of marks and comparisons",
    "symbols": "the mark of every baseline",
    "comparisons": "a row a ranker, measure and baseline (against): difference, 95 % interval, p "
    "(Holm over the rows), effect (Cohen's d), wins, ties, losses, n",
    "said": "every sentence under the table: conventions, marks, folds, warnings",
    "published": "the paper's rows where the collection has some, with ours beside",
}

ANSWERS: Mapping[str, Mapping[str, str]] = {
    "ingest": {"folds": "name, key, queries, documents, features and notes of every fold"},
    "doctor": {
        "queries": "of the parts examined", "documents": "likewise", "features": "columns",
        "labels": "documents of each grade",
        "findings": "severity, code, part, message and queries of what was found",
    },
    "list": {"rows": "name, summary and source, and what else is known of the kind"},
    "train": {
        "ranker": "its name", "artefact": "key of what is stored", "cached": "whether it was",
        "epochs": "trained", "valid": "measures of the validation part", "seconds": "it took now",
    },
    "certify": {"ranker": "its name", "permutations": "scored"},
    "bring": {
        "ranker": "the name that studies know it by", "artefact": "key of what is stored",
        "valid": "measures of the validation part",
        "said": "ties that reading made, in words",
    },
    "runs": {
        "result": "key of the stored comparison", **_TABLE,
        "missing": "judged topics that each run does not answer",
        "unjudged": "topics of each run that are not judged",
        "tied": "share of each run's pairs of documents with equal scores",
    },
    "study initial-ranking": {
        **_RESULT,
        "findings": "a row a family and measure: convention, finding in words, the paper's claim",
    },
    "study invariance": {**_RESULT, "certificates": "one a ranker, as `certify` answers"},
    "study card": {
        **_RESULT, **_CONVENTION, "cards": "by family, a card a ranker",
        "units": "what levels count, by family", "findings": "a sentence a family",
    },
    "study attention": {
        **_RESULT, "table": "a row a head", "findings": "a sentence a ranker",
        "rows": "with --query, instead of these: a ranker's heads, changes and map each",
    },
    "study benchmark": {**_RESULT, **_TABLE, "failed": "rows left out, with why"},
    "study set-size": {
        **_RESULT, **_CONVENTION, "table": "a row a ranker, trained_on and size",
        "claim": "the paper's order of falls, tested", "finding": "in words",
        "shorter": "queries with fewer candidates than a size", "left_out": "in words",
    },
    "study initial-rankings": {
        **_RESULT, **_CONVENTION, "table": "a row a ranker and its initial rankings",
        "claim": "more rankings are better, tested", "finding": "in words",
        "geometry": "what each SetRank learnt of ranks, in words",
    },
    "study ablation": {
        **_RESULT, **_CONVENTION, "table": "a row a variant", "queries": "of the test part",
    },
    "study perturbations": {
        **_RESULT, **_CONVENTION, "transfer": "what an attack on a network (row) costs a ranker",
        "left_out": "what could not be asked, with why",
        "lists_that_reach": "share of the lists that reach a level", "finding": "in words",
        "said": "notes on what is left out and on levels out of reach",
    },
    "study worst-case": {
        **_RESULT, **_CONVENTION, "table": "a row a ranker and budget: random mean, worst found",
        "certificates": "of rankers that no order of the input moves",
        "maps": "with --map: what each exchange of two places costs, by ranker",
    },
    "study group-shuffles": {
        **_RESULT, "table": "a row a ranker and number of shuffles",
        "said": "what the columns mean", "findings": "a sentence a ranker",
    },
    "library list": {
        "rows": "an entry each: `imported` from where, `stale` why; damaged ones with name, "
        "damaged, found and bytes",
    },
    "library show": {
        "name": "of the entry", "key": "its key", "recipe": "what determines it",
        "imported": "from which archive and when, or null", "stale": "why, or empty",
    },
    "library compare": {"rows": "a field that differs each, with its value by key"},
    "library export": {"out": "the file", "bytes": "its size", "artefacts": "keys in it"},
    "library import": {
        "artefacts": "keys that are in the store now", "made_here": "those that no import brought",
    },
    "library verify": {"artefacts": "read", "damaged": "name, kind and finding of each"},
    "library clean": {
        "store": "bytes of all", "freed": "bytes of the waste", "removed": "whether it was",
        "waste": "a row a kind: files and MB",
    },
    "library rename": {"key": "of the entry", "name": "its new name"},
    "library tag": {"key": "of the entry", "tags": "it carries now"},
    "library delete": {"deleted": "keys", "bytes": "freed"},
    "export": {"out": "the file", "bytes": "its size", "part": "of a data set, where one is"},
    "bench": {"rows": "a measured job each, with the peer's time and the ratio"},
    "demo": {
        "certificates": "as `study invariance`", "summary": "as `study initial-ranking`",
        "report": "the file", "seconds": "it took",
    },
    "sample": {"rows": "an artefact each: key and bytes"},
    "worker": {"ran": "false where another worker is at work", "done": "jobs in this state"},
    "app": {},
}  # fmt: skip
"""The keys by command; `app` serves and answers nothing."""

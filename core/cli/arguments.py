"""The commands and their flags; each command names the function that answers it."""

import argparse
import importlib
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from shuffleproof.core.cli import examples, flags_studies
from shuffleproof.core.cli.answer import Answer, show, warn
from shuffleproof.core.cli.wrong_usage import Parser
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.numerals import is_count, number, whole
from shuffleproof.core.rankers.outside.signature import MORE, SIGNATURE
from shuffleproof.core.retrieval.recipe import Analysis, CollectionFormat
from shuffleproof.core.store.artefacts import default_store
from shuffleproof.core.store.manifest import remedy_of
from shuffleproof.core.studies.figure_size import WIDTHS
from shuffleproof.core.studies.registry import kind_of
from shuffleproof.core.user_code import import_module_of_user

INTERRUPTED = 130
"""As shells have it: 128 and the signal's number."""

RUNS = "NDCG@10,AP,P@10,RR"
BENCH_JOBS = (
    "lambdamart", "rankboost", "cluster", "dlcm-train", "figure3", "gpu-train", "gpu-score",
    "gpu-table2", "retrieval", "mixed-lengths", "ndcg", "parse", "reopen", "preferences",
    "ranksvm", "scaling", "setrank-score", "setrank-train", "shell", "softrank", "tuned",
)  # fmt: skip
"""Of `core.bench`, whose modules load too much for a help text."""


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    0 done · 1 wrong input or failed work · 2 wrong usage · 3 `doctor` found a problem, `check` a
    regression, `certify` an effect · 4 `check` or `certify` cannot tell · 130 stopped
    by Ctrl-C. A defect of ours prints its traceback.
    """
    words = list(arguments)
    if words[:1] == ["study"]:
        words[1:2] = map(kind_of, words[1:2])
    chosen = parser().parse_args(words)
    try:
        for own in getattr(chosen, "modules", None) or ():
            import_module_of_user(own)
        if "first" in chosen:
            _function(chosen.first)(chosen)
        answer: Answer = _function(chosen.answer)(chosen)
        show(answer, chosen.command if chosen.json else None)
    except ShuffleproofError as error:
        warn(f"shuffleproof: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        warn("shuffleproof: stopped. What was finished is stored; the same command goes on.")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except OSError as error:
        place = error.filename or "the system"
        warn(f"shuffleproof: {place}: {error.strerror or error}. {remedy_of(error)}".rstrip())
        return 1
    except Exception:  # noqa: BLE001 (the last border: the defect is shown, the exit code is 1)
        traceback.print_exc()
        warn("shuffleproof: this is a defect of ours; please report the lines above.")
        return 1
    return answer.exit_code


def _function(place: str) -> Callable[[argparse.Namespace], Any]:
    """The function of the command line that `module:function` names."""
    module, _, name = place.partition(":")
    found: Callable[[argparse.Namespace], Any] = getattr(
        importlib.import_module(f"shuffleproof.core.cli.{module}"), name
    )
    return found


def _time(text: str) -> float:
    """A length of time in seconds."""
    from shuffleproof.core.cli.tune import seconds  # noqa: PLC0415 (only who tunes pays for it)

    return seconds(text)


def _count(text: str) -> int:
    """A whole number from 1 on."""
    if not is_count(text) or int(text) < 1:
        more = ", of at most 18 digits" if text.isdigit() and int(text) else ""
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on{more}")
    return int(text)


SIZES = {"column": (480, 420), "page": (840, 400)}
"""Pixels: letters stay readable where the figure is as wide as a column or the page."""

LEAST_SIZE, MOST_SIZE = 100, 10_000


def _place(text: str) -> Path | str:
    """A folder, or an address."""
    return text if "://" in text else Path(text)


def _size(text: str) -> tuple[int, int]:
    """Width and height of a figure.

    >>> _size("640x360"), _size("column")
    ((640, 360), (480, 420))
    """
    width, _, height = text.partition("x")
    if text in SIZES:
        return SIZES[text]
    if is_count(width) and is_count(height):
        size = int(width), int(height)
        if min(size) >= LEAST_SIZE and max(size) <= MOST_SIZE:
            return size
    told = f"is not WIDTHxHEIGHT of {LEAST_SIZE} to {MOST_SIZE} pixels, column or page"
    raise argparse.ArgumentTypeError(f"{text!r} {told}")


class _Help(argparse.HelpFormatter):
    """Folds paragraphs and leaves the lines of examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Paragraphs, apart by an empty line; one of examples stays as it is."""
        parts = text.split("\n\n")
        kept = (
            part
            if part.startswith("examples:")
            else super(_Help, self)._fill_text(part, width, indent)
            for part in parts
        )
        return "\n\n".join(kept)


class _Version(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print it and end."""
        from importlib.metadata import version  # noqa: PLC0415 (only who asks waits for it)

        print(f"shuffleproof {version('shuffleproof')}")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    root: argparse.ArgumentParser = Parser(
        prog="shuffleproof",
        formatter_class=_Help,
        description="Will my ranker survive? Robustness studies for learning to rank.",
        epilog=(
            f"What is made is kept in {default_store().root} and never made twice; "
            "SHUFFLEPROOF_HOME names another folder, --store one for a command. "
            "SHUFFLEPROOF_DEVICE=cpu|cuda says where networks compute, --device for a command."
            f"\n\n{examples.help_lines('')}"
        ),
    )
    root.add_argument("--version", action=_Version, nargs=0, help="print the version and end")
    commands = root.add_subparsers(required=True, metavar="COMMAND")
    _data_commands(commands)
    _preference_commands(commands)
    _collection_commands(commands)
    _ranker_commands(commands)
    _outside_commands(commands)
    _study_commands(commands)
    _gate_command(commands)
    _library_commands(commands)
    _other_commands(commands)
    return root


def flags_of(command: str) -> list[argparse.Action]:
    """The arguments of one command, `--help` left out.

    >>> [one.dest for one in flags_of("doctor")][:2]
    ['json', 'store']
    """
    actions = parser()._actions  # noqa: SLF001 (argparse tells them nowhere else)
    (commands,) = (one.choices for one in actions if one.dest == argparse.SUPPRESS and one.choices)
    chosen: argparse.ArgumentParser = dict(commands)[command]
    return [one for one in chosen._actions if one.dest != "help"]  # noqa: SLF001 (likewise)


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    answer: str,
    summary: str,
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=summary, description=summary, formatter_class=_Help)
    called = command.prog.partition(" ")[2]
    command.set_defaults(answer=answer, command=called)
    command.epilog = examples.help_lines(called)
    command.add_argument("--json", action="store_true", help="answer in JSON on stdout")
    command.add_argument(
        "--store", type=_place, metavar="PLACE",
        help="folder of the store, or an address such as s3://bucket/store (default: your own)",
    )  # fmt: skip
    return command


def _data_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    ingest = _command(commands, "ingest", "data:ingest", "read LETOR files into the store")
    ingest.add_argument(
        "path", type=Path, nargs="?", help="a file, or a folder or zip of parts, folds or S1 … S5"
    )
    ingest.add_argument("--name", required=True, help="the name to find it by")
    for part in ("train", "valid", "test"):
        ingest.add_argument(f"--{part}", type=Path, nargs="+", help=f"files of the {part} part")
    ingest.add_argument("--fold", type=_count, help="only this fold (default: all of them)")
    ingest.add_argument("--split", default="0.6,0.2,0.2", help="fractions for a single file")
    ingest.add_argument("--seed", type=whole, default=0, help="seed of the split by query")
    ingest.add_argument(
        "--nulls",
        choices=("error", "zero", "mean", "largest"),
        default="error",
        help="what a NULL or NaN cell becomes (default: an error)",
    )
    ingest.add_argument(
        "--texts",
        type=Path,
        help="what documents say, for functions that take `texts`: CSV with columns document and "
        "text, or JSON lines",
    )
    ingest.add_argument(
        "--documents",
        type=Path,
        help="what pages show of documents: CSV, JSON lines or Parquet with docid and title, url "
        "or snippet; with --name alone: beside a data set that is there",
    )
    ingest.add_argument(
        "--query-texts",
        dest="queries",
        type=Path,
        help="what pages show of queries: such a file with qid, text and, for slices, tag",
    )
    doctor = _command(
        commands, "doctor", "data:doctor_",
        "what an upload hides, or a ranker; exit status 3 where there is a problem, which spoils "
        "a study",
    )  # fmt: skip
    doctor.add_argument(
        "data", nargs="?", help="a stored name, a key, a LETOR file or folder, or `sample`"
    )
    doctor.add_argument("--part", choices=("all", "train", "valid", "test"), default="all")
    doctor.add_argument(
        "--ranker",
        help="examine this ranker on the data's test lists instead: a name, a model "
        "(lightgbm:model.txt), a file of scores (scores:file), or a function module:function",
    )
    doctor.add_argument("--queries", type=_count, help="of a ranker: only the first so many")
    doctor.add_argument(
        "--seed", type=whole, default=0, help="of a ranker: of the orders that are tried"
    )
    doctor.add_argument("--data", dest="of", help="as the first word")
    _lists(doctor)


def _preference_commands(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> None:
    ingest = _command(
        commands, "ingest-preferences", "preferences:ingest",
        "read preferences between pairs into the store: tables of query, a, b[, preference, votes, "
        "judge, first], matrices (.npy), sets of rankings, TREC runs",
    )  # fmt: skip
    ingest.add_argument("path", type=Path, nargs="+", help="files: CSV, TSV, JSON lines, Parquet …")
    ingest.add_argument("--name", required=True, help="the name to find them by")
    ingest.add_argument(
        "--format", choices=("pairs", "matrix", "rankings", "runs"),
        help="what the files hold (default: told by their names and first lines)",
    )  # fmt: skip
    ingest.add_argument(
        "--direction", choices=("small", "large"),
        help="of rankings: which numbers are the top; refused without, with what labels propose",
    )  # fmt: skip
    ingest.add_argument(
        "--nulls", choices=("missing", "last"), default="missing",
        help="of rankings and runs: an item that a ranker lacks has no vote of it (default), or "
        "stands below its last",
    )  # fmt: skip
    ingest.add_argument(
        "--repeats", choices=("error", "votes", "first", "last"), default="error",
        help="a pair with two preferences: an error (default), both votes, or one of them",
    )  # fmt: skip
    ingest.add_argument(
        "--malformed", choices=("error", "skip"), default="error",
        help="answers that cannot be read: an error (default), or left out and counted",
    )  # fmt: skip
    ingest.add_argument(
        "--columns", metavar="OURS=THEIRS,…", help="what the table calls our columns"
    )
    ingest.add_argument("--items", type=Path, help="a file of query and item: all that there are")
    ingest.add_argument("--qrels", type=Path, help="judgments (TREC): labels of items")
    consistency = _command(
        commands,
        "consistency",
        "preferences:show_consistency",
        "where preferences contradict themselves",
    )
    consistency.add_argument("preferences", help="a stored name, a key, or a file")
    consistency.add_argument(
        "--best", action="store_true",
        help="search each query's best order too: what it contradicts, and the least that any does",
    )  # fmt: skip
    aggregate = _command(
        commands,
        "aggregate",
        "preferences:show_orders",
        "orders made of preferences, and their cost",
    )
    aggregate.add_argument("preferences", help="a stored name, a key, or a file")
    aggregate.add_argument(
        "--with", dest="aggregators", default="goa,kemeny", metavar="NAMES",
        help="comma-separated, of `list aggregators` (default goa,kemeny)",
    )  # fmt: skip
    aggregate.add_argument("--calls", type=whole, help="pairs that may be asked a query")
    aggregate.add_argument("--top", type=_count, help="ranks that are wanted (default: all)")
    flags_studies.measures(aggregate)
    aggregate.add_argument("--seed", type=whole, default=0, help="of pivots and of pairs bought")
    _judge_command(commands)


def _judge_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    judge = _command(
        commands, "judge", "judging:judge",
        "ask a live judge (an address of HTTP, or a function) for preferences between the test "
        "documents of a data set; what was answered is kept and never asked again",
    )  # fmt: skip
    judge.add_argument("name", help="of the preferences, which are made or extended")
    judge.add_argument(
        "--with", dest="judge", metavar="JUDGE",
        help="http://…, which takes and answers JSON, or module:function",
    )  # fmt: skip
    judge.add_argument(
        "--judge", dest="called", metavar="NAME",
        help="the name that answers are noted under (default: the address, or the function with "
        "digits of its code)",
    )  # fmt: skip
    judge.add_argument(
        "--pairs", default="sampled", metavar="WHICH",
        help="sampled (default), all, or an aggregator of `list aggregators`, such as heap-top-k, "
        "which asks for those that it wants",
    )  # fmt: skip
    judge.add_argument(
        "--calls", type=_count,
        help="answers that are wanted, those of earlier calls of this command among them; an "
        "aggregator has an equal share for each query",
    )  # fmt: skip
    judge.add_argument(
        "--orders", choices=("both", "one"), default="both",
        help="show each pair in both orders (default), two calls, or in one that is drawn",
    )  # fmt: skip
    judge.add_argument("--top", type=_count, help="ranks that an aggregator wants (default: all)")
    judge.add_argument("--seed", type=whole, default=0, help="of what is drawn")
    judge.add_argument("--queries", type=_count, help="only the first so many test queries")
    judge.add_argument("--jobs", type=_count, default=1, help="calls at the same time (default 1)")
    judge.add_argument(
        "--retries", type=whole, default=3, help="calls made again where one fails (default 3)"
    )
    judge.add_argument(
        "--wait", type=number, default=0.5,
        help="seconds before a call is made again, twice as many each time (default 0.5)",
    )  # fmt: skip
    judge.add_argument(
        "--timeout", type=number, default=60.0,
        help="seconds that an endpoint may take for an answer (default 60)",
    )  # fmt: skip
    judge.add_argument("--price", type=number, help="of a call, for the cost that is told before")
    judge.add_argument("--seconds", type=number, help="that a call takes, likewise")
    judge.add_argument("--dry-run", action="store_true", help="tell the cost and ask nothing")
    judge.add_argument(
        "--next", type=_count, metavar="N", help="write the next N pairs to ask instead of asking"
    )
    judge.add_argument("--out", type=Path, help="of --next: a file of JSON lines")
    judge.add_argument(
        "--answers", type=Path, help="read answers from such a file instead of asking"
    )
    judge.add_argument("--data", default="sample", help="stored name, key, folder, or `sample`")
    _lists(judge, "file-order")
    judge.set_defaults(initial="file-order")


def _collection_commands(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> None:
    ingest = _command(
        commands, "ingest-collection", "retrieval:ingest",
        "read a text collection into the store: documents, queries, judgments of SMART, TREC, "
        "BEIR, JSON lines or tables",
    )  # fmt: skip
    ingest.add_argument("path", type=Path, help="a folder of its files, or one archive")
    ingest.add_argument("--name", required=True, help="the name to find it by")
    flags_studies.fields(ingest, CollectionFormat)
    flags_studies.fields(ingest, Analysis)
    doctor = _command(
        commands, "doctor-collection", "retrieval:doctor",
        "what a text collection hides; exit status 3 where there is a problem",
    )  # fmt: skip
    doctor.add_argument("collection", help="a stored name, a key, or a folder")
    search = _command(commands, "search", "retrieval:search", "what retrievers find for a text")
    search.add_argument("collection", help="a stored name, a key, or a folder")
    search.add_argument("query", help="the text")
    search.add_argument(
        "--by", default="bm25", metavar="NAMES",
        help="comma-separated, of `list retrievers` (default bm25)",
    )  # fmt: skip
    search.add_argument("-k", type=_count, default=10, help="documents of each (default 10)")
    candidates = _command(
        commands, "candidates", "retrieval:candidates",
        "a learning-to-rank data set of a collection: candidates, features, judgments",
    )  # fmt: skip
    candidates.add_argument("collection", help="a stored name, a key, or a folder")
    candidates.add_argument("--name", required=True, help="the name to find the data set by")
    candidates.add_argument(
        "--depth", type=_count, default=100, help="candidates a query (default 100)"
    )
    candidates.add_argument(
        "--by", default="bm25,ql,lsi", metavar="NAMES",
        help="retrievers whose scores are the first features, so that feature:1 … are initial "
        "rankings; the first of them finds the candidates (default bm25,ql,lsi)",
    )  # fmt: skip
    candidates.add_argument(
        "--features", action="store_true", help="lengths and matched words as features too"
    )
    candidates.add_argument("--seed", type=whole, default=0, help="of the split by query")


def _ranker_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    names = _command(commands, "list", "rankers:names", "what can be chosen")
    names.set_defaults(first="open:look_over_list")
    names.add_argument(
        "kind",
        choices=(
            "rankers", "recipe", "losses", "measures", "conventions", "perturbations", "studies",
            "aggregators", "retrievers", "answers", "stored",
        ),
    )  # fmt: skip
    names.add_argument(
        "of",
        nargs="?",
        metavar="RANKER",
        help="whose `recipe`: all its fields, as dlcm@paper, snrm@tuned",
    )
    names.add_argument(
        "--all", action="store_true", help="of what is stored: parts of cross-fittings too"
    )
    train = _command(commands, "train", "rankers:train", "train a ranker, or find it trained")
    train.set_defaults(first="open:look_over")
    train.add_argument(
        "ranker",
        help="a name of `list rankers`, with @preset if you like; or snrm, fnrm or cnrm, "
        "which learn to search the text collection --data",
    )
    train.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="FIELD=VALUE",
        help="recipe fields; `list recipe RANKER` says which",
    )
    train.add_argument("--seed", type=whole, help="of the ranker")
    flags_studies.dry_run(train, "train")
    flags_studies.add_worker_flags(train, _count)
    _workbench(train)
    tune = _command(
        commands, "tune", "tune:tune",
        "search a ranker's recipe on validation; the best becomes a preset with a name",
    )  # fmt: skip
    tune.set_defaults(first="open:look_over")
    tune.add_argument("ranker", help="one of `list rankers`; the search starts from its preset")
    tune.add_argument("--budget", type=_time, help="begin no trial after so long: 90s, 10m, 2h")
    tune.add_argument(
        "--trials", type=_count, help="trials at most (default 40, with --budget any number)"
    )
    tune.add_argument(
        "--search",
        nargs="+",
        default=[],
        metavar="FIELD",
        help="fields of its recipe, with FIELD=LOW..HIGH or FIELD=a,b if you like (default: those "
        "for which a range is declared)",
    )
    tune.add_argument("--name", help="of the preset (default tuned_ and the data's name)")
    tune.add_argument("--seed", type=whole, default=0, help="of the search (default 0)")
    tune.add_argument(
        "--at-once", type=_count,
        help="trials that are proposed before any of them is known; part of what is searched "
        "(default 1, with --executor as many as workers)",
    )  # fmt: skip
    flags_studies.add_worker_flags(tune, _count)
    _workbench(tune)
    certify = _command(
        commands, "certify", "rankers:certify", "is it invariant to the order shown?"
    )
    certify.set_defaults(first="open:look_over")
    certify.epilog = (
        "exit status: 0 invariant, 3 not invariant, 4 cannot be told. A function is "
        f"{SIGNATURE}; ranks count from 0, the best first. {MORE}\n\n{certify.epilog}"
    )
    certify.add_argument(
        "ranker",
        help="a ranker, a model (lightgbm:model.txt, xgboost:model.json), or a Python function "
        "module:function",
    )
    certify.add_argument("--permutations", type=_count, default=20, help="a query (default 20)")
    certify.add_argument("--queries", type=_count, help="only the first so many test queries")
    certify.add_argument("--seed", type=whole, default=0, help="of the permutations (default 0)")
    certify.add_argument(
        "--lists",
        nargs="+",
        choices=("whole", "duplicates"),
        default=[],
        help="examine these too: lists of all documents of a query; lists with planted duplicates",
    )
    flags_studies.max_seconds(certify)
    flags_studies.jobs(certify, _count)
    _workbench(certify)


def _outside_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    bring = _command(
        commands, "bring", "outside_rankers:bring", "a ranker from outside, by its file"
    )
    bring.add_argument("kind", choices=("scores", "lightgbm", "xgboost"))
    bring.add_argument("path", type=Path, help="scores of the test part, or a model file")
    bring.add_argument("--data", default="sample", help="the data set that it is brought to")
    runs = _command(commands, "runs", "outside_rankers:runs", "TREC runs, judged and compared")
    runs.add_argument("run", type=Path, nargs="+", help="files of runs")
    runs.add_argument("--qrels", type=Path, required=True, help="the judgments")
    flags_studies.measures(runs, RUNS)
    _with(runs)
    runs.add_argument("--against", help="runs for the marks, comma-separated")


def _study_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    study = commands.add_parser("study", help="run a study; finished trials are never repeated")
    studies = study.add_subparsers(required=True, metavar="STUDY")

    def command(name: str, answer: str, summary: str) -> argparse.ArgumentParser:
        return _command(studies, name, answer, summary)

    flags_studies.add(command, _workbench, _count)


def _gate_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    check = _command(
        commands, "check", "check:check", "is a ranker worse than its stored card? for builds"
    )
    check.epilog = (
        "exit status: 0 no worse; 3 a regression (or what --fail-on names); 4 it cannot be told: "
        "not comparable, or an unreliable baseline; 1 and 2 wrong input or usage. A regression is "
        "a loss of --least or more that is beyond chance (paired t, Holm over all comparisons) "
        "and beyond the ranker's own noise; soft is one that is smaller, or not told from chance."
        f"\n\n{check.epilog}"
    )
    check.add_argument(
        "--baseline", type=Path, required=True, metavar="card.json",
        help="what `study card --out card.json` wrote",
    )  # fmt: skip
    _with(check)
    check.add_argument("--data", help="stored name, key, folder (default: the card's)")
    check.add_argument(
        "--rankers",
        help="comma-separated, `new=old` where the card has another name (default: the card's; "
        "functions and files are run only if named here)",
    )
    check.add_argument(
        "--fail-on",
        choices=("regression", "soft", "nothing"),
        default="regression",
        help="soft: regressions and soft losses; nothing: status 0 (default regression)",
    )
    check.add_argument(
        "--least", type=number, help="the smallest loss that is a regression (default 0.01)"
    )
    check.add_argument("--junit", type=Path, metavar="out.xml", help="write JUnit XML")
    check.add_argument(
        "--markdown", type=Path, metavar="out.md", help="write a summary for a pull request"
    )
    check.add_argument("--device", help="cuda or cpu (default: cuda where there is one)")
    flags_studies.jobs(check, _count)


def _library_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    library = commands.add_parser("library", help="what is stored: names, tags, archives")
    doings = library.add_subparsers(required=True, metavar="DOING")
    listing = _command(doings, "list", "library:listing", "everything that is stored")
    listing.add_argument("--tag", help="only what carries this tag")
    listing.add_argument(
        "--kind", choices=("data", "ranker", "study", "scores", "preferences", "collection")
    )
    show = _command(doings, "show", "library:show", "one entry: recipe, needs, command, Python")
    show.add_argument("what", help="a name or key")
    compare = _command(doings, "compare", "library:compare", "side by side, only what differs")
    compare.add_argument("what", nargs="+", help="names or keys")
    export = _command(doings, "export", "library:export", "one archive for another machine")
    export.add_argument("out", type=Path, help="the file to write")
    export.add_argument("what", nargs="+", help="names or keys; what they need goes along")
    taken = _command(doings, "import", "library:take", "take the artefacts of an archive")
    taken.add_argument("archive", type=Path, help="what `library export` wrote")
    rename = _command(doings, "rename", "library:rename", "call something by another name")
    tag = _command(doings, "tag", "library:tag", "let something carry exactly these tags")
    delete = _command(doings, "delete", "library:delete", "delete something")
    for one in (rename, tag, delete):
        one.add_argument("what", help="a name or key")
    rename.add_argument("name", help="its new name")
    tag.add_argument("tags", nargs="*", help="words; none removes them all")
    delete.add_argument(
        "--with-dependents", action="store_true", help="and everything that was made from it"
    )
    verify = _command(doings, "verify", "library:verify", "read every file and compare digests")
    verify.add_argument("what", nargs="*", help="names or keys (default: everything)")
    clean = _command(doings, "clean", "library:clean", "what nobody needs: trials, left files")
    clean.add_argument("--yes", action="store_true", help="remove it; without, it is only told")


def _other_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    export = _command(commands, "export", "export:export", "write something stored to a file")
    export.set_defaults(first="export_format:export_format", late="out")
    export.add_argument("what", help="a stored study, ranker, data set or collection: key or name")
    export.add_argument(
        "out",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="the file; its ending says the format (none: a LETOR folder)",
    )
    export.add_argument(
        "--format",
        choices=(
            "run", "qrels", "letor", "csv", "parquet", "latex", "markdown", "html", "json", "pdf",
            "svg", "png",
        ),
    )  # fmt: skip
    export.add_argument(
        "--per-query", action="store_true", help="of a study: every query's value, not the means"
    )
    export.add_argument(
        "--figure", type=_count, help="of a study: which of its figures, from 1 (default 1)"
    )
    large = export.add_mutually_exclusive_group()
    large.add_argument(
        "--width", choices=tuple(WIDTHS),
        help="of a figure that is printed or projected, with letters to match: a column, a page "
        "or a slide",
    )  # fmt: skip
    large.add_argument(
        "--size", type=_size, default="900x500", metavar="WIDTHxHEIGHT",
        help="of a figure, in pixels, 96 an inch (default 900x500); `column` and `page` fit a "
        "column and a page of a paper",
    )  # fmt: skip
    export.add_argument(
        "--against", help="of a benchmark: baselines for its marks (default initial ranking)"
    )
    export.add_argument(
        "--vectors", type=Path, metavar="FILE",
        help="of a collection: its documents' learnt vectors, a line of JSON each: id, vector",
    )  # fmt: skip
    export.add_argument(
        "--run", type=Path, metavar="FILE", help="of a collection: what its queries find (TREC)"
    )
    export.add_argument(
        "--by", metavar="RETRIEVER",
        help="of a collection: whose vectors (default snrm) or whose run (default bm25)",
    )  # fmt: skip
    export.add_argument("-k", type=_count, default=1000, help="documents a query (default 1000)")
    flags_studies.measures(export, None)
    flags_studies.add_baseline_flags(export)
    export.set_defaults(test=None, marks=None)  # told from what was given
    export.add_argument(
        "--part",
        choices=("all", "train", "valid", "test"),
        help="of a data set (default: all in tables and folders, test in other files)",
    )
    _workbench(export)
    bench = _command(commands, "bench", "work:bench", "our speed beside a peer's, one run")
    bench.add_argument(
        "jobs", nargs="*", help=f"all by default, gpu is all of gpu-…: {', '.join(BENCH_JOBS)}"
    )
    bench.add_argument("--quick", action="store_true", help="small sizes")
    bench.add_argument(
        "--page", type=Path, metavar="FILE.md",
        help="write it all on a page, with the machine and its limits, and a line into the history "
        "beside it: what lost more than 10 %% since the last run of this machine is named",
    )  # fmt: skip
    demo = _command(commands, "demo", "work:demo", "the main job on the sample set, in minutes")
    demo.add_argument("--out", type=Path, default=Path("reports/demo.html"), help="the report")
    sample = _command(commands, "sample", "sample:sample", "make what sample_data ships")
    sample.add_argument("folder", type=Path, help="where sample_data lies")
    worker = _command(commands, "worker", "work:worker", "do the jobs that were handed in")
    worker.add_argument(
        "--slots",
        type=_count,
        help="jobs at once (default: one a GPU, or by cores), and one short one beside them",
    )
    worker.add_argument("--idle", type=number, help="end after so many seconds without work")
    worker.add_argument(
        "--until-empty",
        action="store_true",
        help="do no jobs but trainings and cells of studies that --executor shares in this store, "
        "until nothing is left; any scheduler may start such workers",
    )
    worker.add_argument("--take", type=_count, help="likewise, and end after so many of them")
    app = _command(commands, "app", "work:app", "open the dashboard")
    app.add_argument("--host", default="127.0.0.1", help="address to listen on")
    app.add_argument("--port", type=whole, choices=range(1, 65_536), metavar="PORT", default=8501)
    app.add_argument("--allow-host", nargs="+", help="host names it answers to, beside loopback")
    app.add_argument("--base-path", help="path below which a proxy serves it")


def _with(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--with", dest="modules", action="append", metavar="MODULE",
        help="import a module of yours that registers rankers, measures or perturbations",
    )  # fmt: skip


def _workbench(command: argparse.ArgumentParser, initial: str = "lambdamart") -> None:
    _with(command)
    command.add_argument("--data", default="sample", help="stored name, key, folder, or `sample`")
    _lists(command, initial)


def _lists(command: argparse.ArgumentParser, initial: str = "lambdamart") -> None:
    command.add_argument("--initial", help=f"initial rankers, comma-separated (default {initial})")
    command.add_argument("--depth", type=_count, default=40, help="candidates a query (default 40)")
    command.add_argument("--scores", choices=("cross-fitted", "in-sample"), default="cross-fitted")
    command.add_argument("--preset", help="preset of rankers named without one")
    command.add_argument("--device", help="cuda or cpu (default: cuda where there is one)")

"""The commands that read data in and look at it: ranking data, preferences, text collections."""

from pathlib import Path

from shuffleproof.core.cli import flags
from shuffleproof.core.numerals import number, whole
from shuffleproof.core.retrieval.recipe import Analysis, CollectionFormat


def add(commands: flags.Commands) -> None:
    """Add them."""
    for add_one in (
        _ingest,
        _doctor,
        _ingest_preferences,
        _consistency,
        _aggregate,
        _judge,
        _ingest_collection,
        _doctor_collection,
        _search,
        _candidates,
    ):
        add_one(commands)


def _ingest(commands: flags.Commands) -> None:
    ingest = flags.command(
        commands, "ingest", "data:ingest", "read LETOR text or tables into the store"
    )
    ingest.add_argument(
        "path", type=Path, nargs="?",
        help="a file (LETOR text, CSV, JSON lines, Parquet, Arrow), or a folder or zip of parts, "
        "folds or S1 … S5",
    )  # fmt: skip
    ingest.add_argument("--name", required=True, help="the name to find it by")
    for part in ("train", "valid", "test"):
        ingest.add_argument(f"--{part}", type=Path, nargs="+", help=f"files of the {part} part")
    ingest.add_argument("--fold", type=flags.count, help="only this fold (default: all of them)")
    ingest.add_argument("--split", help="fractions for a single file (default: 0.6,0.2,0.2)")
    ingest.add_argument("--seed", type=whole, help="seed of the split by query (default: 0)")
    ingest.add_argument(
        "--nulls",
        choices=("error", "zero", "mean", "largest", "missing"),
        default="error",
        help="what a NULL or NaN cell becomes (default: an error); missing: NaN for your models of "
        "LightGBM, XGBoost, CatBoost and scikit-learn that read it, 0 for all else; so do cells "
        "that LETOR text leaves out",
    )
    ingest.add_argument(
        "--columns",
        metavar="OURS=THEIRS,…",
        help="what a table calls query, label and document, as query=session_id,label=target",
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


def _doctor(commands: flags.Commands) -> None:
    doctor = flags.command(
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
    doctor.add_argument("--queries", type=flags.count, help="of a ranker: only the first so many")
    doctor.add_argument(
        "--seed", type=whole, default=0, help="of a ranker: of the orders that are tried"
    )
    doctor.add_argument("--data", dest="of", help="as the first word")
    flags.lists(doctor)


def _ingest_preferences(commands: flags.Commands) -> None:
    ingest = flags.command(
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
        "--nulls", choices=("missing", "last"),
        help="of rankings and runs: an item that a ranker lacks has no vote of it, or stands below "
        "its last; refused without where ranks are missing, with what labels propose",
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
    ingest.add_argument(
        "--values", metavar="WORD=NUMBER,…",
        help="what words of the column preference mean, from 0 (b) to 1 (a): win=1,loss=0",
    )  # fmt: skip
    ingest.add_argument("--items", type=Path, help="a file of query and item: all that there are")
    ingest.add_argument("--qrels", type=Path, help="judgments (TREC): labels of items")


def _consistency(commands: flags.Commands) -> None:
    consistency = flags.command(
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


def _aggregate(commands: flags.Commands) -> None:
    aggregate = flags.command(
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
    aggregate.add_argument("--top", type=flags.count, help="ranks that are wanted (default: all)")
    flags.measures(aggregate)
    aggregate.add_argument("--seed", type=whole, default=0, help="of pivots and of pairs bought")


def _judge(commands: flags.Commands) -> None:
    judge = flags.command(
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
        "--calls", type=flags.count,
        help="answers that are wanted, those of earlier calls of this command among them; an "
        "aggregator has an equal share for each query",
    )  # fmt: skip
    judge.add_argument(
        "--orders", choices=("both", "one"), default="both",
        help="show each pair in both orders (default), two calls, or in one that is drawn",
    )  # fmt: skip
    judge.add_argument(
        "--top", type=flags.count, help="ranks that an aggregator wants (default: all)"
    )
    judge.add_argument("--seed", type=whole, default=0, help="of what is drawn")
    judge.add_argument("--queries", type=flags.count, help="only the first so many test queries")
    judge.add_argument(
        "--jobs", type=flags.count, default=1, help="calls at the same time (default 1)"
    )
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
        "--next",
        type=flags.count,
        metavar="N",
        help="write the next N pairs to ask instead of asking",
    )
    judge.add_argument("--out", type=Path, help="of --next: a file of JSON lines")
    judge.add_argument(
        "--answers", type=Path, help="read answers from such a file instead of asking"
    )
    judge.add_argument("--data", default="sample", help="stored name, key, folder, or `sample`")
    flags.lists(judge, "file-order")
    judge.set_defaults(initial="file-order")


def _ingest_collection(commands: flags.Commands) -> None:
    ingest = flags.command(
        commands, "ingest-collection", "retrieval:ingest",
        "read a text collection into the store: documents, queries, judgments of SMART, TREC, "
        "BEIR, JSON lines or tables",
    )  # fmt: skip
    ingest.add_argument("path", type=Path, help="a folder of its files, or one archive")
    ingest.add_argument("--name", required=True, help="the name to find it by")
    flags.fields(ingest, CollectionFormat)
    flags.fields(ingest, Analysis)


def _doctor_collection(commands: flags.Commands) -> None:
    doctor = flags.command(
        commands, "doctor-collection", "retrieval:doctor",
        "what a text collection hides; exit status 3 where there is a problem",
    )  # fmt: skip
    doctor.add_argument("collection", help="a stored name, a key, or a folder")


def _search(commands: flags.Commands) -> None:
    search = flags.command(
        commands, "search", "retrieval:search", "what retrievers find for a text"
    )
    search.add_argument("collection", help="a stored name, a key, or a folder")
    search.add_argument("query", help="the text")
    search.add_argument(
        "--by", default="bm25", metavar="NAMES",
        help="comma-separated, of `list retrievers` (default bm25)",
    )  # fmt: skip
    search.add_argument("-k", type=flags.count, default=10, help="documents of each (default 10)")


def _candidates(commands: flags.Commands) -> None:
    candidates = flags.command(
        commands, "candidates", "retrieval:candidates",
        "a learning-to-rank data set of a collection: candidates, features, judgments",
    )  # fmt: skip
    candidates.add_argument("collection", help="a stored name, a key, or a folder")
    candidates.add_argument("--name", required=True, help="the name to find the data set by")
    candidates.add_argument(
        "--depth", type=flags.count, default=100, help="candidates a query (default 100)"
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

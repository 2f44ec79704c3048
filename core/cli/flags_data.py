"""The commands that read data in and look at it: ranking data, preferences, text collections."""

from pathlib import Path

from shuffleproof.core.cli import flags
from shuffleproof.core.numerals import number, whole
from shuffleproof.core.retrieval.recipe import Analysis, CollectionFormat

STORED = "a stored name, a key, or a folder"
PREFERENCES = "a stored name, a key, or a file"


def add(commands: flags.Commands) -> None:
    """Add them."""
    _ingest(commands)
    _doctor(commands)
    _ingest_preferences(commands)
    _orders(commands)
    _judge(commands)
    _collections(commands)


def _ingest(commands: flags.Commands) -> None:
    summary = "read LETOR text or tables into the store"
    add = flags.command(commands, "ingest", "data:ingest", summary).add_argument
    add("path", type=Path, nargs="?", help="a file, or a folder or zip of parts or folds")
    add("--name", required=True, help="the name to find it by")
    for part in ("train", "valid", "test"):
        add(f"--{part}", type=Path, nargs="+", help=f"files of the {part} part")
    add("--fold", type=flags.count, help="only this fold (default: all of them)")
    add("--split", help="fractions for a single file (default: 0.6,0.2,0.2)")
    add("--seed", type=whole, help="seed of the split by query (default: 0)")
    add(
        "--nulls",
        choices=("error", "zero", "mean", "largest", "missing"),
        default="error",
        help="value of NULL and NaN cells (default: an error); missing: NaN where models know it",
    )
    columns = "names of query, label and document in a table, as query=session_id,label=target"
    add("--columns", metavar="OURS=THEIRS,…", help=columns)
    add("--texts", type=Path, help="texts of documents for functions: CSV or JSON lines")
    shown = "CSV, JSON lines or Parquet with"
    add("--documents", type=Path, help=f"shown on pages: {shown} docid and title, url or snippet")
    queries = f"shown on pages: {shown} qid, text and, for slices, tag"
    add("--query-texts", dest="queries", type=Path, help=queries)


def _doctor(commands: flags.Commands) -> None:
    summary = "problems of a data set or a ranker; exit status 3 where one spoils a study"
    doctor = flags.command(commands, "doctor", "data:doctor_", summary)
    add = doctor.add_argument
    add("data", nargs="?", help="a stored name, a key, a LETOR file or folder, or `sample`")
    add("--part", choices=("all", "train", "valid", "test"), default="all")
    add("--ranker", help="examine this ranker instead: a name, KIND:FILE or module:function")
    add("--queries", type=flags.count, help="of a ranker: only the first so many")
    add("--seed", type=whole, default=0, help="of a ranker: of the orders that are tried")
    add("--data", dest="of", help="as the first word")
    flags.lists(doctor)


def _ingest_preferences(commands: flags.Commands) -> None:
    summary = "read preferences between pairs: tables, matrices (.npy), sets of rankings, TREC runs"
    ingest = flags.command(commands, "ingest-preferences", "preferences:ingest", summary)
    add = ingest.add_argument
    add("path", type=Path, nargs="+", help="files: CSV, TSV, JSON lines, Parquet …")
    add("--name", required=True, help="the name to find them by")
    formats = ("pairs", "matrix", "rankings", "runs")
    add("--format", choices=formats, help="content of the files (default: by name and first lines)")
    add("--direction", choices=("small", "large"), help="of rankings: which numbers are the top")
    nulls = "of rankings and runs: an item that a ranker lacks has no vote, or comes last"
    add("--nulls", choices=("missing", "last"), help=nulls)
    repeats = "a pair with two preferences (default: an error)"
    add("--repeats", choices=("error", "votes", "first", "last"), default="error", help=repeats)
    malformed = "unreadable answers (default: an error)"
    add("--malformed", choices=("error", "skip"), default="error", help=malformed)
    add("--columns", metavar="OURS=THEIRS,…", help="names of our columns in the table")
    values = "values of words in the column preference, from 0 (b) to 1 (a): win=1,loss=0"
    add("--values", metavar="WORD=NUMBER,…", help=values)
    add("--qrels", type=Path, help="judgments (TREC): labels of items")


def _orders(commands: flags.Commands) -> None:
    """Add `consistency` and `aggregate`."""
    summary = "contradictions in preferences"
    consistency = flags.command(commands, "consistency", "preferences:show_consistency", summary)
    consistency.add_argument("preferences", help=PREFERENCES)
    best = "search each query's best order too, and the least that any order contradicts"
    consistency.add_argument("--best", action="store_true", help=best)
    summary = "orders made of preferences, and their cost"
    aggregate = flags.command(commands, "aggregate", "preferences:show_orders", summary)
    add = aggregate.add_argument
    add("preferences", help=PREFERENCES)
    names = "comma-separated, of `list aggregators` (default goa,kemeny)"
    add("--with", dest="aggregators", default="goa,kemeny", metavar="NAMES", help=names)
    add("--calls", type=whole, help="pairs that may be asked a query")
    add("--top", type=flags.count, help="ranks that are wanted (default: all)")
    flags.measures(aggregate)
    add("--seed", type=whole, default=0, help="of pivots and of pairs bought")


def _judge(commands: flags.Commands) -> None:
    summary = (
        "ask a live judge for preferences between test documents; answers are never asked twice"
    )
    judge = flags.command(commands, "judge", "judging:judge", summary)
    add = judge.add_argument
    add("name", help="of the preferences, which are made or extended")
    judges = "http://…, which takes and answers JSON, or module:function"
    add("--with", dest="judge", metavar="JUDGE", help=judges)
    name = "name of the judge (default: the address, or the function with digits of its code)"
    add("--judge", dest="called", metavar="NAME", help=name)
    pairs = "sampled (default), all, or one of `list aggregators`, which asks for what it wants"
    add("--pairs", default="sampled", metavar="WHICH", help=pairs)
    add("--calls", type=flags.count, help="answers that are wanted, earlier ones included")
    orders = "show each pair in both orders (default), or in one that is drawn"
    add("--orders", choices=("both", "one"), default="both", help=orders)
    add("--top", type=flags.count, help="ranks that an aggregator wants (default: all)")
    add("--seed", type=whole, default=0, help="of all that is drawn")
    add("--queries", type=flags.count, help="only the first so many test queries")
    add("--jobs", type=flags.count, default=1, help="calls at the same time (default 1)")
    add("--retries", type=whole, default=3, help="repetitions of a failed call (default 3)")
    wait = "seconds before the first repetition, doubled each time (default 0.5)"
    add("--wait", type=number, default=0.5, help=wait)
    add("--timeout", type=number, default=60.0, help="seconds for an answer (default 60)")
    add("--price", type=number, help="of a call, for the cost that is printed before")
    add("--seconds", type=number, help="of a call, likewise")
    add("--dry-run", action="store_true", help="print the cost and ask nothing")
    add("--next", type=flags.count, metavar="N", help="write the next N pairs instead of asking")
    add("--out", type=Path, help="of --next: a file of JSON lines")
    add("--answers", type=Path, help="read answers from such a file instead of asking")
    add("--data", default="sample", help="stored name, key, folder, or `sample`")
    flags.lists(judge, "file-order")
    judge.set_defaults(initial="file-order")


def _collections(commands: flags.Commands) -> None:
    """Add the commands about text collections."""
    summary = "read documents, queries and judgments of SMART, TREC, BEIR, JSON lines or tables"
    ingest = flags.command(commands, "ingest-collection", "retrieval:ingest", summary)
    ingest.add_argument("path", type=Path, help="a folder of its files, or one archive")
    ingest.add_argument("--name", required=True, help="the name to find it by")
    flags.fields(ingest, CollectionFormat)
    flags.fields(ingest, Analysis)
    summary = "problems of a text collection; exit status 3 where there is one"
    doctor = flags.command(commands, "doctor-collection", "retrieval:doctor", summary)
    doctor.add_argument("collection", help=STORED)
    summary = "documents that retrievers find for a text"
    add = flags.command(commands, "search", "retrieval:search", summary).add_argument
    add("collection", help=STORED)
    add("query", help="the text")
    by = "comma-separated, of `list retrievers` (default bm25)"
    add("--by", default="bm25", metavar="NAMES", help=by)
    add("-k", type=flags.count, default=10, help="documents of each (default 10)")
    summary = "a learning-to-rank data set of a collection: candidates, features, judgments"
    add = flags.command(commands, "candidates", "retrieval:candidates", summary).add_argument
    add("collection", help=STORED)
    add("--name", required=True, help="the name to find the data set by")
    add("--depth", type=flags.count, default=100, help="candidates a query (default 100)")
    by = "retrievers whose scores are the first features; the first finds the candidates"
    add("--by", default="bm25,ql,lsi", metavar="NAMES", help=f"{by} (default bm25,ql,lsi)")
    add("--features", action="store_true", help="lengths and matched words as features too")
    add("--seed", type=whole, default=0, help="of the split by query")

"""Lines that each command's --help shows; a test reads every one by the command's own flags."""

from collections.abc import Mapping

from shuffleproof.core.parameters import parameters
from shuffleproof.core.studies.question import syntax_of
from shuffleproof.core.studies.registry import COLLECTION_STUDIES, EVERY

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "": ("demo", "study initial-ranking --rankers lambdamart,dlcm", "library list"),
    "ingest": (
        "ingest MQ2008 --name mq2008",
        "ingest --name mine --train a.txt --valid b.txt --test c.txt --nulls zero",
        "ingest clicks.csv --name mine --columns query=session_id,label=target",
        "ingest --name mine --documents docs.csv --query-texts queries.jsonl",
    ),
    "ingest-preferences": (
        "ingest-preferences judged.csv --name judged",
        "ingest-preferences A1.txt --name agg --direction small --nulls last",
    ),
    "consistency": ("consistency judged", "consistency judged --best --json"),
    "aggregate": (
        "aggregate judged --with goa,quicksort,kemeny",
        "aggregate judged --with quicksort,heap-top-k --calls 100 --top 10 --json",
    ),
    "judge": (
        "judge mine --with http://127.0.0.1:8000/judge --calls 100 --jobs 4",
        "judge mine --next 100 --out pairs.jsonl",
        "judge mine --answers pairs.jsonl --judge anna",
    ),
    "ingest-collection": (
        "ingest-collection cranfield --name cranfield",
        "ingest-collection scifact --name scifact --format beir",
    ),
    "candidates": ("candidates cranfield --depth 100 --features --name cranfield_ltr",),
    "doctor-collection": ("doctor-collection cranfield", "doctor-collection cranfield --json"),
    "search": ('search cranfield "heated slabs"', 'search cranfield "flow" --by bm25,lsi -k 5'),
    "doctor": ("doctor sample", "doctor clicks.txt --part train --json"),
    "list": ("list rankers", "list recipe dlcm@paper"),
    "train": (
        "train lambdamart",
        "train dlcm@tuned --data mq2008 --set learning_rate=0.01 epochs=20",
    ),
    "tune": (
        "tune lambdamart --budget 10m",
        "tune dlcm@tuned --data mq2008 --trials 20 --search learning_rate batch_lists=8..64",
    ),
    "certify": (
        "certify setrank-imsab",
        "certify mymodule:score --data mq2008 --queries 50",
    ),
    "bring": (
        "bring scores mine.txt --data mq2008",
        "bring xgboost model.json --data mq2008 --columns id-1",
    ),
    "runs": (
        "runs bm25.run dense.run --qrels qrels.txt",
        "runs *.run --qrels qrels.txt --measures nDCG@10,RBP(p=0.8),bpref,Judged@10 --against bm25",
    ),
    "study initial-ranking": (
        "study initial-ranking --rankers lambdamart,dlcm,setrank-imsab-init",
    ),
    "study invariance": (
        "study invariance --rankers dlcm,setrank-imsab",
        "study invariance --rankers mymodule:score --data mq2008 --queries 50",
    ),
    "study benchmark": (
        "study benchmark --rankers table2 --seeds 3 --data mq2008",
        "study benchmark --rankers dlcm,dlcm@tuned --against dlcm --max-seconds 600",
    ),
    "study preferences": (
        "study preferences",
        "study preferences --data judged --disturbances noise,calls --aggregators goa,quicksort",
    ),
    "check": (
        "check --baseline card.json",
        "check --baseline card.json --rankers dlcm --junit card.xml --markdown card.md",
    ),
    "study card": ("study card --rankers dlcm", "study card --rankers dlcm --out card.json"),
    "library list": ("library list", "library list --kind ranker"),
    "library show": (
        "library show sample",
        "library show lambdamart@tuned_mq2008",
    ),
    "library export": ("library export mine.zip study-3f2a91c4",),
    "library import": ("library import mine.zip",),
    "library rename": ('library rename study-3f2a91c4 "Figure 3"',),
    "library delete": (
        "library delete mine --with-dependents",
        "library delete lambdamart@tuned_mq2008",
    ),
    "library verify": ("library verify", "library verify study-3f2a91c4"),
    "library clean": ("library clean", "library clean --yes"),
    "export": (
        "export study-3f2a91c4 figure3.pdf --size column",
        "export study-3f2a91c4 q.csv --per-query",
        "export cranfield --run f.run --by bm25",
    ),
    "demo": ("demo", "demo --out report.html"),
    "sample": ("sample sample_data",),
    "app": ("app", "app --host 0.0.0.0 --port 8080 --allow-host ltr.example.org"),
}
"""By command; a kind of study that has none of its own has those of `of`."""


def of(command: str) -> tuple[str, ...]:
    """The lines of a command, without the program's name.

    >>> of("study set-size")
    ('study set-size', 'study set-size --data mq2008 --preset small --queries 100')
    """
    if command in EXAMPLES:
        return EXAMPLES[command]
    group, _, kind = command.partition(" ")
    if group != "study" or kind not in EVERY:
        return ()
    if kind in COLLECTION_STUDIES:
        return command, f"{command} --data cranfield --seeds 4"
    flags = [flag for field in parameters(EVERY[kind]) for flag in syntax_of(field).flags(field)]
    line = " ".join([command, *(f"--{flag.name} dlcm" for flag in flags if flag.required)])
    return line, f"{line} --data mq2008 --preset small --queries 100"


def help_lines(command: str) -> str:
    """The lines as a help text ends with them."""
    return "\n".join(["examples:", *(f"  shuffleproof {line}" for line in of(command))])

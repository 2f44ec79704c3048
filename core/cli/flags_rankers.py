"""The commands about rankers: lists of names, training, tuning, certificates, rankers by files."""

import argparse
import re
from pathlib import Path

from shuffleproof.core.cli import flags
from shuffleproof.core.numerals import number, whole
from shuffleproof.core.rankers.outside.signature import MORE, SIGNATURE

RUNS = "NDCG@10,AP,P@10,RR"
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
KINDS = (
    "rankers", "recipe", "losses", "measures", "conventions", "perturbations", "studies",
    "aggregators", "retrievers",
)  # fmt: skip


def add(commands: flags.Commands) -> None:
    """Add them."""
    names = flags.command(commands, "list", "rankers:names", "names that can be chosen")
    names.set_defaults(first="open:look_over_list")
    names.add_argument("kind", choices=KINDS)
    of = "of `recipe`: the ranker whose fields are listed, as dlcm@paper, snrm@tuned"
    names.add_argument("of", nargs="?", metavar="RANKER", help=of)
    _train(commands)
    _tune(commands)
    _certify(commands)
    bring = flags.command(commands, "bring", "outside_rankers:bring", "add a ranker by its file")
    bring.add_argument("kind", choices=("scores", "lightgbm", "xgboost"))
    bring.add_argument("path", type=Path, help="scores of the test part, or a model file")
    bring.add_argument("--data", default="sample", help="the data set of the ranker")
    rule = "feature of a model's column i: by name, by id i, by id i + 1, or in the data's order"
    choices = ("names", "id", "id-1", "order")
    bring.add_argument(
        "--columns", choices=choices, default="", help=f"{rule} (default: what fits)"
    )
    _runs(commands)


def _train(commands: flags.Commands) -> None:
    train = flags.command(commands, "train", "rankers:train", "train a ranker, or find it trained")
    train.set_defaults(first="open:look_over")
    ranker = "of `list rankers`, with @preset if you like; snrm, fnrm, cnrm of a text collection"
    train.add_argument("ranker", help=ranker)
    fields = "recipe fields; `list recipe RANKER` names them"
    train.add_argument("--set", nargs="+", default=[], metavar="FIELD=VALUE", help=fields)
    train.add_argument("--seed", type=whole, help="of the ranker")
    flags.dry_run(train, "rankers:dry_run")
    flags.workers(train)
    flags.workbench(train)


def _tune(commands: flags.Commands) -> None:
    summary = "search a ranker's recipe on validation; the best becomes a preset with a name"
    tune = flags.command(commands, "tune", "tune:tune", summary)
    tune.set_defaults(first="open:look_over")
    add = tune.add_argument
    add("ranker", help="one of `list rankers`; the search starts from its preset")
    add("--budget", type=_seconds, help="begin no trial after so long: 90s, 10m, 2h")
    trials = "trials at most, presets included (default 40, with --budget any number)"
    add("--trials", type=flags.count, help=trials)
    search = "fields, with FIELD=LOW..HIGH or FIELD=a,b if you like (default: those with a range)"
    add("--search", nargs="+", default=[], metavar="FIELD", help=search)
    add("--name", help="of the preset (default tuned_ and the data's name)")
    add("--seed", type=whole, default=0, help="of the search (default 0)")
    at_once = "trials proposed at a time (default 1, with --executor as many as workers)"
    add("--at-once", type=flags.count, help=at_once)
    flags.workers(tune)
    flags.workbench(tune)


def _certify(commands: flags.Commands) -> None:
    summary = "is it invariant to the order shown?"
    certify = flags.command(commands, "certify", "rankers:certify", summary)
    certify.set_defaults(first="open:look_over")
    certify.epilog = (
        "exit status: 0 invariant, 3 not invariant, 4 inconclusive. A function is "
        f"{SIGNATURE}; ranks count from 0, the best first. {MORE}\n\n{certify.epilog}"
    )
    add = certify.add_argument
    add("ranker", help="a ranker, a model (lightgbm:FILE, xgboost:FILE) or module:function")
    add("--permutations", type=flags.count, default=20, help="a query (default 20)")
    add("--queries", type=flags.count, help="only the first so many test queries")
    add("--seed", type=whole, default=0, help="of the permutations (default 0)")
    also = "examine lists of all documents of a query too, and lists with planted duplicates"
    add("--lists", nargs="+", choices=("whole", "duplicates"), default=[], help=also)
    flags.max_seconds(certify)
    flags.jobs(certify)
    flags.workbench(certify)


def _runs(commands: flags.Commands) -> None:
    summary = "judge and compare TREC runs, by default under the conventions of trec_eval"
    runs = flags.command(commands, "runs", "outside_rankers:runs", summary)
    runs.add_argument("run", type=Path, nargs="+", help="files of runs")
    runs.add_argument("--qrels", type=Path, required=True, help="the judgments")
    flags.measures(runs, RUNS)
    runs.set_defaults(conventions="trec_eval")
    flags.modules(runs)
    runs.add_argument("--against", help="runs for the marks, comma-separated")


def _seconds(text: str) -> float:
    """A length of time: seconds, or with a unit.

    >>> _seconds("90"), _seconds("10m"), _seconds("1.5h")
    (90.0, 600.0, 5400.0)
    """
    match = re.fullmatch(r"([0-9.]+)([smh]?)", text.strip())
    try:
        value = number(match[1]) * UNITS[match[2]] if match else 0.0
    except ValueError:
        value = 0.0
    if value <= 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a length of time above 0, such as 90s, 10m or 2h"
        )
    return value

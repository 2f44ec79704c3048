"""The commands about rankers: what there is, train, tune and certify one, those from outside."""

import argparse
import re
from pathlib import Path

from shuffleproof.core.cli import flags
from shuffleproof.core.numerals import number, whole
from shuffleproof.core.rankers.outside.signature import MORE, SIGNATURE

RUNS = "NDCG@10,AP,P@10,RR"
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def add(commands: flags.Commands) -> None:
    """Add them."""
    for add_one in (
        _list,
        _train,
        _tune,
        _certify,
        _bring,
        _runs,
    ):
        add_one(commands)


def _list(commands: flags.Commands) -> None:
    names = flags.command(commands, "list", "rankers:names", "what can be chosen")
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


def _train(commands: flags.Commands) -> None:
    train = flags.command(commands, "train", "rankers:train", "train a ranker, or find it trained")
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
    flags.dry_run(train, "rankers:dry_run")
    flags.workers(train)
    flags.workbench(train)


def _tune(commands: flags.Commands) -> None:
    tune = flags.command(
        commands, "tune", "tune:tune",
        "search a ranker's recipe on validation; the best becomes a preset with a name",
    )  # fmt: skip
    tune.set_defaults(first="open:look_over")
    tune.add_argument("ranker", help="one of `list rankers`; the search starts from its preset")
    tune.add_argument(
        "--budget", type=_seconds,
        help="begin no trial after so long: 90s, 10m, 2h; the same again adds trials",
    )  # fmt: skip
    tune.add_argument(
        "--trials", type=flags.count,
        help="trials at most, with the presets, which are always tried (default 40, with --budget "
        "any number)",
    )  # fmt: skip
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
        "--at-once", type=flags.count,
        help="trials that are proposed before any of them is known; part of what is searched "
        "(default 1, with --executor as many as workers)",
    )  # fmt: skip
    flags.workers(tune)
    flags.workbench(tune)


def _certify(commands: flags.Commands) -> None:
    certify = flags.command(
        commands, "certify", "rankers:certify", "is it invariant to the order shown?"
    )
    certify.set_defaults(first="open:look_over")
    certify.epilog = (
        "exit status: 0 invariant, 3 not invariant, 4 inconclusive. A function is "
        f"{SIGNATURE}; ranks count from 0, the best first. {MORE}\n\n{certify.epilog}"
    )
    certify.add_argument(
        "ranker",
        help="a ranker, a model (lightgbm:model.txt, xgboost:model.json), or a Python function "
        "module:function",
    )
    certify.add_argument(
        "--permutations", type=flags.count, default=20, help="a query (default 20)"
    )
    certify.add_argument("--queries", type=flags.count, help="only the first so many test queries")
    certify.add_argument("--seed", type=whole, default=0, help="of the permutations (default 0)")
    certify.add_argument(
        "--lists",
        nargs="+",
        choices=("whole", "duplicates"),
        default=[],
        help="examine these too: lists of all documents of a query; lists with planted duplicates",
    )
    flags.max_seconds(certify)
    flags.jobs(certify)
    flags.workbench(certify)


def _bring(commands: flags.Commands) -> None:
    bring = flags.command(
        commands, "bring", "outside_rankers:bring", "a ranker from outside, by its file"
    )
    bring.add_argument("kind", choices=("scores", "lightgbm", "xgboost"))
    bring.add_argument("path", type=Path, help="scores of the test part, or a model file")
    bring.add_argument("--data", default="sample", help="the data set that it is brought to")
    bring.add_argument(
        "--columns",
        choices=("names", "id", "id-1", "order"),
        default="",
        help="of a model, which feature its column i is, counted from 0: the one of its name, of "
        "id i, of id i + 1, or the i-th of the data set (default: the only rule that fits)",
    )


def _runs(commands: flags.Commands) -> None:
    runs = flags.command(
        commands, "runs", "outside_rankers:runs",
        "TREC runs, judged and compared; measures have the conventions of trec_eval unless "
        "--conventions names others",
    )  # fmt: skip
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

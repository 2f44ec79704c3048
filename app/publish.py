"""A static site of stored results: `python -m shuffleproof.app.publish OUT SETTINGS`.

The site needs no server: it opens from its folder and works on any static host. Plotly is packed
once for all pages; the shuffle has recorded answers.
"""

import base64
import gzip
import html
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from shuffleproof.app import report, scoring
from shuffleproof.app.study import cards
from shuffleproof.app.study.shown_list import ShownList
from shuffleproof.core.answers.document_changes import UNCHANGED
from shuffleproof.core.answers.one_list import moves
from shuffleproof.core.answers.shown_order import ShownOrder
from shuffleproof.core.answers.trained_rankers import TrainedRanker, contrast, list_recipes
from shuffleproof.core.errors import DataError, ShuffleproofError
from shuffleproof.core.gate.leaderboard import standings
from shuffleproof.core.store.manifest import read_manifest
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.registry import study_kind
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.tables import Column, Table

ASSETS = files("shuffleproof.app") / "assets"
SHUFFLES = 20
"""Recorded orders of a query, with the seeds 1 to 20."""

QUESTION = "What happens to my ranker when its input changes?"
COLUMNS = (
    Column("group", "Data, measure"), Column("ranker", "Ranker"), Column("ranks", "Rank"),
    Column("unchanged", "Unchanged", "f"), Column("perturbed", "Perturbed", "f"),
    Column("kept", "Kept", ".1%"), Column("worst", "Worst perturbation"),
    Column("worst_mean", "Mean there", "f"), Column("card", "Card"),
)  # fmt: skip
COLOURS = (
    ":host { --st-text-color: CanvasText; --st-background-color: Canvas; --st-font: inherit; "
    "--st-secondary-background-color: color-mix(in srgb, CanvasText 6%, Canvas); "
    "--st-border-color: #8886; --st-primary-color: #b3303f; }"
)
"""Colours that Streamlit gives the cards in the dashboard."""


def publish(out: Path, settings: Mapping[str, Any]) -> list[str]:
    """Write the site; return its files.

    Args:
        out: folder of the site; it is made.
        settings: `data` (its name), `queries` (ids; none: the example query), `studies` (their
            folders) and `cards` (a folder of card.json files; none: no leaderboard).

    Raises:
        ShuffleproofError: a study or card cannot be read, or a query is not there.
    """
    pages = {}
    links = []
    for folder in map(Path, settings["studies"]):
        artefact = read_manifest(folder)
        kind = study_kind(artefact.recipe)
        name = f"{artefact.recipe['kind']}-{artefact.key.digest[:8]}.html"
        headline = kind.sections_module().headline(StudyResult.open(folder), View()).text
        links.append((name, kind.title, headline))
        pages[name] = _page(kind.title, report.study_html(folder), plotly=True)
    if settings["cards"]:
        words = "Rankers of all cards, by their mean under all perturbations."
        links.append(("leaderboard.html", "Leaderboard", words))
        pages["leaderboard.html"] = _page("Leaderboard", _leaderboard(Path(settings["cards"])))
    listed = "".join(
        f"<li><a href='{name}'>{html.escape(title)}</a>: {html.escape(words)}</li>"
        for name, title, words in links
    )
    shuffle = shuffle_html(settings["data"], settings["queries"])
    pages["index.html"] = _page(QUESTION, f"{shuffle}<h2>Results</h2><ul>{listed}</ul>")
    pages["plotly.js"] = packed_plotly()
    out.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (out / name).write_text(text, encoding="utf-8")
    return list(pages)


def asset(name: str) -> str:
    """Text of a file of `app/assets`."""
    return (ASSETS / name).read_text(encoding="utf-8")


def packed_plotly() -> str:
    """Script that unpacks Plotly: 2 MB instead of 5."""
    packed = base64.b64encode(gzip.compress(get_plotlyjs().encode(), 9)).decode()
    return f"{asset('unpack.js')}\nunpack('{packed}');\n"


def _page(title: str, body: str, *, plotly: bool = False) -> str:
    """One page of the site."""
    home = "" if title == QUESTION else "<p><a href='index.html'>All results</a></p>"
    scripts = "<script src='plotly.js'></script>" if plotly else ""
    text = f"{scripts}{home}<h1>{html.escape(title)}</h1>{body}"
    return report.page(title, f"{text}<footer>Made with Shuffleproof.</footer>")


def shuffle_html(data: str, queries: Sequence[str]) -> str:
    """The shuffle with recorded answers; empty if no two rankers can be compared."""
    shuffles = recorded_shuffles(data, queries)
    if not shuffles:
        return ""
    recorded = json.dumps(shuffles, ensure_ascii=False)
    recorded = recorded.replace("</", "<\\/")  # a title must not end the script
    script = asset("cards.js").replace("export default ", "")
    return (
        "<h2>Shuffle the documents</h2>"
        "<p id='choices'></p><p class='headline' id='verdict' aria-live='polite'></p>"
        f"<div id='shuffle'></div><template id='cards'><style>{COLOURS}{asset('cards.css')}"
        "</style><div class='cards'></div></template>"
        f"<script type='application/json' id='recorded'>{recorded}</script>"
        f"<script>{script}\n{asset('recorded.js')}</script>"
    )


def recorded_shuffles(data: str, queries: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Cards of every query in every recorded order; empty if no two rankers can be compared.

    Args:
        data: name of the data set.
        queries: ids of test queries; none: the example query.

    Raises:
        DataError: the test part has no such query.
    """
    described = scoring.describe(data)
    pair = contrast(scoring.rankers_of(described))
    if len(pair) < 2:
        return []
    recipe = list_recipes(pair)[0]
    if unknown := [query for query in queries if query not in described.queries]:
        remedy = "Name test queries; the page Data shows them."
        raise DataError(data, f"no test query {unknown[0]}", remedy)
    return [
        _recorded(scoring.List(data, described.test, recipe, query), tuple(pair))
        for query in queries or [described.example_query]
    ]


def _recorded(query_list: scoring.List, rankers: tuple[TrainedRanker, ...]) -> list[dict[str, Any]]:
    """Cards of a query in its initial order and in every recorded one, each after the other."""
    documents = scoring.documents(query_list, ("initial",))
    texts = ["initial", *(f"shuffled:{seed}" for seed in range(1, SHUFFLES + 1))]
    start = ShownOrder().arranged(documents)
    drawn = []
    for text in texts:
        order = ShownOrder.parse(text).arranged(documents)
        shown = ShownList(documents, "initial", text, UNCHANGED, start, order, None)
        answers = scoring.answers(query_list, rankers, "initial", text)
        both = [(answer, moves(documents, start, order, answer)) for answer in answers]
        attended = scoring.attended(query_list, rankers, text, UNCHANGED)
        drawn.append(cards.facts(shown, both, attended, query_list.data))
    for one in drawn[1:]:  # the documents are those of the first order
        del one["documents"]
    return drawn


def _leaderboard(folder: Path) -> str:
    """Table of all rankers, with a filter."""
    frame = standings(folder)
    ranks = [
        f"{first}" if first == last else f"{first}–{last}"
        for first, last in zip(frame["first"], frame["last"], strict=True)
    ]
    shown = frame.assign(ranks=ranks)[[column.key for column in COLUMNS]]
    return (
        "<p>Rankers are sorted by their mean over all perturbations, each at its highest level. "
        "A range of ranks holds 95 % of 1,000 resamples of the queries. Rankers of one data set, "
        "measure and candidate lists are compared.</p>"
        "<p><label>Filter <input id='filter' type='search'></label></p>"
        f"{table_text.html(Table(shown, COLUMNS, ''))}<script>{asset('filter.js')}</script>"
    )


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # Streamlit warns about every cache outside of its server
    try:
        print("\n".join(publish(Path(sys.argv[1]), json.loads(sys.argv[2]))))  # noqa: T201
    except ShuffleproofError as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"the folder cannot be written to: {error.strerror}")

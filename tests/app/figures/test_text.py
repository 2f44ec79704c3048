"""Names, ids and labels are shown letter by letter in pictures and reports: never as markup."""

import importlib
import inspect
import pkgutil
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from shuffleproof.app import figures, pictures, report
from shuffleproof.app.figures.attention import Cells, Side
from shuffleproof.app.figures.text import escaped, unescaped
from shuffleproof.core.studies import sections, tables

EVIL = "<a href='https://evil.example'>q</a>&lt;%{x}"
SHOWN = "&lt;a href='https://evil.example'&gt;q&lt;/a&gt;&amp;lt;%&#123;x}"
CUT = SHOWN.partition("href")[0]
"""What is seen of it wherever names are shortened or broken into lines."""

MODULES = [
    importlib.import_module(f"shuffleproof.app.figures.{found.name}")
    for found in pkgutil.iter_modules(figures.__path__)
]
DRAWING = {
    f"{module.__name__.removeprefix('shuffleproof.app.figures.')}.{name}": draw
    for module in MODULES
    for name, draw in vars(module).items()
    if inspect.isfunction(draw) and draw.__module__ == module.__name__
    and not name.startswith("_") and draw.__annotations__.get("return") is go.Figure
    and next(iter(inspect.signature(draw).parameters)) != "figure"
}  # fmt: skip
"""Every function of the package that makes a picture, by its name."""

NUMBERS = {
    "attention.small", "group_shuffles.equivariance",
    "tuning.best_so_far",
}  # fmt: skip
"""Those that show no text of users: only numbers, or names of our own rankers."""


def table(**columns):
    return pd.DataFrame(columns)


MOVES = table(
    document=[EVIL, "b"], label=[1.0, 0.0], shown=[1, 2], answered=[2, 1], shown_before=[1, 2],
    answered_before=[1, 2], moved=[True, True], score=[0.1, 0.2], score_before=[0.2, 0.1],
)  # fmt: skip
CURVE = table(
    ranker=[EVIL] * 2, family="shuffle", level=[0.0, 1.0], tau=[1.0, 0.0], measure="NDCG@10",
    mean=[0.5, 0.4], low=[0.4, 0.3], high=[0.6, 0.5], n=9,
)  # fmt: skip
EFFECTS = table(
    variant=["paper", f"paper + {EVIL}"], change=[0.0, 0.1], change_low=[0.0, 0.0],
    change_high=[0.0, 0.2], change_p=[1.0, 0.01], source=[EVIL] * 2,
)  # fmt: skip
PAIR = (EVIL, "dlcm")
SIZES = table(
    ranker=[EVIL] * 4, trained_on=["3", "3", "6", "6"], size=[3, 6, 3, 6], mean=0.5, low=0.4,
    high=0.6, n=9, mean_length=3.0, shift=0.1, order_stability=0.9, score_shift=0.1,
    difference=0.1, p=0.1,
)  # fmt: skip
SIDE = Side("position", [f"1. {EVIL}", "2. b"], [1.0, 0.0])
CASES = {
    "attention.heat": (Cells(np.eye(2), SIDE, SIDE, (0.0, 1.0), signed=False, what="weight"),),
    "benchmark.differences": (
        table(ranker=[EVIL], difference=[0.1], low=[0.0], high=[0.2], p=[0.1], n=[9], wins=[1],
              ties=[1], losses=[1]),
        EVIL, "NDCG@10",
    ),
    "benchmark_query.two_answers": (
        table(document=[EVIL, "b"], label=[1.0, 0.0], initial=[1, 2],
              **{EVIL: [1, 2], "dlcm": [2, 1]}), PAIR,
    ),
    "benchmark_query.two_runs": (
        table(document=[EVIL, "b"], label=[1.0, 0.0], **{EVIL: [1, 2], "dlcm": [2, 1]}), PAIR,
    ),
    "bump.bump": (MOVES, EVIL),
    "card.cards": (
        table(ranker=[EVIL], start=[0.5], end=[0.4], kept=[0.8], kept_low=[0.7], kept_high=[0.9],
              milliseconds_a_list=[1.0]), "NDCG@10", "shuffle 1",
    ),
    "training.compare_dots": (table(label=[EVIL], value=[0.5]),),
    "distributions.feature": (
        table(part=["train"], low=[0.0], high=[1.0], share=[1.0]), EVIL,
    ),
    "distributions.labels": (table(part=[EVIL], label=[1], documents=[3]),),
    "distributions.lengths": (table(part=[EVIL], documents=[3], queries=[3]),),
    "initial_ranking.curves": (CURVE, "shuffle", "NDCG@10", "share"),
    "rerankers.slots": (
        table(ranker=[EVIL], basis=["random orders"], unit=["score"], values=[[0.5, -0.5]]),
    ),
    "rerankers.curves": (
        table(ranker=[EVIL], first_stage=[EVIL], by=["candidates"], at=[5], mean=[0.5]), "NDCG@10",
    ),
    "rerankers.places": (
        table(ranker=[EVIL], basis=["random orders"], lists=[2], matrix=[[[1.0]]]),
    ),
    "initial_rankings.conditions": (
        table(ranker=[EVIL], condition=[f"{EVIL} for dlcm"], mean=[0.5], low=[0.4], high=[0.6],
              change=[0.1], change_low=[0.0], change_high=[0.2], change_p=[0.1], n=[9]),
        "NDCG@10",
    ),
    "perturbations.losses": (
        table(ranker=[EVIL, "dlcm"], family="shuffle", level=1.0, loss=0.1),
        {"order": ["shuffle"]}, "NDCG@10",
    ),
    "perturbations.queries": (
        pd.DataFrame({EVIL: [0.1, 0.2]}, index=[EVIL, "b"]), "share", "NDCG@10",
    ),
    "certified_top_k.gaps": (
        table(ranker=[EVIL] * 2, inject=[1, 3], k=[5, 5], K=[10, 10], certified=[1.0, 0.5],
              low=[0.9, 0.4], high=[1.0, 0.6], attacked=[0.0, 0.2], n=[9, 9]),
    ),
    "margin.effects": (
        table(feature=[EVIL], effect=[0.2], low=[0.1], high=[0.3]),
        table(document=[EVIL], effect=[0.1], swaps=[True]), 0.0, EVIL,
    ),
    "set_size.curves": (SIZES.iloc[:2], "NDCG@10", 3),
    "training_noise.strips": (
        table(ranker=[EVIL] * 2, source=["as trained", "rows"], draw=[0, 0], value=[0.5, 0.4]),
        "NDCG@10",
    ),
    "training.curves": (
        {EVIL: table(done=[1, 2], loss=[1.0, 0.5], valid=[0.1, 0.2], valid_loss=[1.0, 0.9])},
    ),
    "worst_case.damages": (
        table(ranker=[EVIL], budget=[1], random_damage=[0.1], worst_damage=[0.2], random=[0.1],
              low=[0.1], high=[0.3], certified=[False]), "NDCG@10", "exchanges",
    ),
    "retrieval.means": (
        table(retriever=[EVIL], measure=["AP"], mean=[0.2], low=[0.1], high=[0.3], n=[9]), "AP",
    ),
    "retrieval.postings": (table(retriever=[EVIL], rank=[1], share=[0.5]),),
    "retrieval.changes": (
        table(retriever=[EVIL], condition=[EVIL], level=[0.3], change=[-0.2], low=[-0.3],
              high=[-0.1]), "AP", "share",
    ),
    "preferences.curves": (
        table(aggregator=[EVIL], level=[0.1], mean=[0.2], low=[0.1], high=[0.3], n=[9]),
        EVIL, EVIL, EVIL,
    ),
    "preferences.bounds": (
        table(bound=[EVIL], disturbance=[EVIL], level=[0.1], measured=[0.6], limit=[0.5], n=[9]),
    ),
    "preferences.calls": (table(aggregator=[EVIL], items=[9], calls=[36.0], seconds=[0.1]),),
    "preferences.matrix": (np.array([[np.nan, 0.9], [0.1, np.nan]]), [EVIL, "b"], [0, 1]),
    "retrieval.sparsity_curves": (
        table(way=[EVIL], level=[0.1], mean=[0.2], low=[0.1], high=[0.3],
              nonzeros_document=[9.0], postings_per_query_over_n=[0.5],
              dense_in_disguise=[False]), "AP",
    ),
    "ablation.effects": (EFFECTS, "quality", "NDCG@10", str),
}  # fmt: skip


def texts(part):
    """Every text in a picture."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for value in part.values():
            yield from texts(value)
    elif isinstance(part, (list, tuple, np.ndarray, pd.Series)):
        for value in np.asarray(part, dtype=object).ravel():
            yield from texts(value)


def test_every_picture_is_asked_here_and_escapes_what_it_is_given():
    assert set(DRAWING) == {*CASES, *NUMBERS}, "a picture of names needs its case"
    assert not [name for name, draw in DRAWING.items() if not hasattr(draw, "__wrapped__")]


@pytest.mark.parametrize("name", CASES)
def test_no_name_is_markup(name):
    picture = DRAWING[name](*CASES[name])
    found = list(texts(picture.to_plotly_json()))
    assert not [text for text in found if "<a" in text or "& %{x}" in text or "lt;%{x}" in text]
    assert any(CUT.strip() in text for text in found), "the name itself is shown"


def test_a_click_tells_the_name_as_it_was_given():
    picture = DRAWING["bump.bump"](*CASES["bump.bump"])
    facts = next(trace.customdata for trace in picture.data if trace.customdata is not None)
    assert unescaped(list(facts[0]))[1:3] == [EVIL, 1.0]
    assert unescaped(escaped(EVIL)) == EVIL
    assert escaped(EVIL) == SHOWN


def test_nor_in_a_report(monkeypatch):
    frame = CASES["training.compare_dots"][0]
    monkeypatch.setitem(pictures.PICTURES, "bump", DRAWING["bump.bump"])
    table = tables.infer_columns(frame, EVIL)
    told = [
        sections.Picture("bump", CASES["bump.bump"]),
        table, replace(table, folded=True),
        sections.Finding(EVIL),
        sections.Convention(EVIL), sections.Details(EVIL, [EVIL]),
    ]  # fmt: skip
    for section in told:
        page = report.section_html(section)
        assert "<a" not in page
        assert "evil.example" in page

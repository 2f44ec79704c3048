"""What every section of the report is made of: pictures, sentences, tables, all escaped."""

import html

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import on_paper


def figure(drawn: go.Figure, words: str) -> str:
    """A picture with what it shows in words; the report's head holds the drawing program."""
    picture = on_paper(drawn).to_html(full_html=False, include_plotlyjs=False)
    said = html.escape(words)
    return (
        f"<figure role='img' aria-label='{said}'>{picture}<figcaption>{said}</figcaption></figure>"
    )


def finding(text: str) -> str:
    """What the numbers amount to; nothing where there is nothing to say.

    >>> finding("a < b"), finding("")
    ('<p><b>a &lt; b</b></p>', '')
    """
    return f"<p><b>{html.escape(text)}</b></p>" if text else ""


def said(text: str) -> str:
    """A sentence beside; nothing where there is nothing to say."""
    return f"<p>{html.escape(text)}</p>" if text else ""


def table(frame: pd.DataFrame) -> str:
    """Every number, four digits of it."""
    return frame.to_html(
        index=False, border=0, na_rep="–", float_format=lambda value: f"{value:.4g}"
    )


def folded(head: str, content: str) -> str:
    """Content behind a line that opens it."""
    return f"<details><summary>{html.escape(head)}</summary>{content}</details>"

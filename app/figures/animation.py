"""The last shuffle as an animated GIF for slides: documents move from their old places to the new.

Pillow draws the frames, with its own font: a title with letters outside of it is replaced by the
document's id.
"""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from PIL import Image, ImageDraw, ImageFont

WIDTH, MARGIN, ROW, HEAD = 1280, 24, 34, 118
"""Pixels: width, outer margin, height of a row, height above the rows."""

ROWS = 16
"""Documents in view of a column; the others move out of it."""

MOVING, STANDING = 60, 2000
"""Milliseconds that a moving frame and a still list are shown."""

FRAMES, COLORS = 16, 64
INK, QUIET, GROUND, CARD = "#1f2430", "#5b6270", "#ffffff", "#f1f2f4"
TITLE, HEADING, NOTE = (22, INK), (19, INK), (15, QUIET)
RELEVANT, OTHER, GRADE = (16, INK), (16, QUIET), (15, GROUND)
"""Size and colour of texts: of cards with and without a grade, and of the grade."""

LAST_LETTER = 0x24F
"""Last letter of the Latin letters that the font has."""

ABSENT = str.maketrans({"→": "to", "−": "-"})
"""Signs that the font does not have, and what is written for them."""


def shuffle_gif(facts: Mapping[str, Any], caption: str) -> bytes:
    """An animated GIF of a list that is shuffled, and of the rankings before and after.

    Args:
        facts: documents, orders, rankers and verdict, as `app.study.cards.facts` gives them.
        caption: line below the picture, such as the data set and the query.
    """
    columns = _columns(facts)
    height = HEAD + min(ROWS, len(facts["shown"])) * ROW + 2 * MARGIN
    steps = [at / FRAMES for at in range(FRAMES + 1)]
    frames = [_frame(facts, columns, height, caption, _eased(step)) for step in steps]
    times = [STANDING, *[MOVING] * (FRAMES - 1), 2 * STANDING]
    content = BytesIO()
    small = [frame.quantize(COLORS) for frame in frames]
    small[0].save(
        content,
        "GIF",
        save_all=True,
        append_images=small[1:],
        duration=times,
        loop=0,
        optimize=True,
    )
    return content.getvalue()


def _eased(step: float) -> float:
    """Share of the way after a share of the time: slow at both ends.

    >>> _eased(0.0), _eased(0.5), _eased(1.0)
    (0.0, 0.5, 1.0)
    """
    return step * step * (3 - 2 * step)


def _columns(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Title, note, colour and places of every document before and after, by column."""
    count = len(facts["documents"]["ids"])
    places = [_places(facts[name], count) for name in ("before", "shown")]
    shown = {"name": "Shown", "note": facts["words"], "color": QUIET, "places": places}
    rankers = [
        {
            "name": ranker["name"], "note": ranker["note"], "color": ranker["color"],
            "places": [ranker["before"], ranker["answered"]], "moved": ranker["moved"],
        }
        for ranker in facts["rankers"]
    ]  # fmt: skip
    return [shown, *rankers]


def _places(order: Sequence[int], count: int) -> list[int | None]:
    """Position of each document; None of one that is not in the order."""
    places: list[int | None] = [None] * count
    for place, document in enumerate(order):
        places[document] = place
    return places


def _frame(
    facts: Mapping[str, Any], columns: Sequence[Mapping[str, Any]], height: int, caption: str,
    share: float,
) -> Image.Image:  # fmt: skip
    """Picture of all columns after a share of the way from the old places to the new ones."""
    picture = Image.new("RGB", (WIDTH, height), GROUND)
    draw = ImageDraw.Draw(picture)
    ended = share == 1
    title = facts["verdict"] if ended else "The same documents, shown in another order …"
    _text(draw, (MARGIN, MARGIN), title, TITLE, WIDTH - 2 * MARGIN)
    _text(draw, (MARGIN, height - MARGIN), caption, NOTE, WIDTH - 2 * MARGIN)
    wide = (WIDTH - 2 * MARGIN) // len(columns)
    for at, column in enumerate(columns):
        left = MARGIN + at * wide
        _text(draw, (left, MARGIN + 40), column["name"], HEADING, wide - 16)
        _text(draw, (left, MARGIN + 66), column["note"] if ended else "", NOTE, wide - 16)
        picture.paste(_cards(facts["documents"], column, share, wide - 16), (left, HEAD))
    return picture


def _cards(
    documents: Mapping[str, Any], column: Mapping[str, Any], share: float, width: int
) -> Image.Image:
    """Cards of one column between two orders; relevant documents are drawn above the others.

    A removed document is not drawn; a copy appears at its place.
    """
    old, new = column["places"]
    picture = Image.new("RGB", (width, ROWS * ROW), GROUND)
    draw = ImageDraw.Draw(picture)
    for document in sorted(range(len(new)), key=lambda one: documents["labels"][one]):
        start, end = old[document], new[document]
        if end is None:
            continue
        start = end if start is None else start
        top = round((start + share * (end - start)) * ROW)
        moved = share == 1 and column.get("moved", [False] * len(new))[document]
        draw.rounded_rectangle(
            (0, top, width - 1, top + ROW - 6), 6, CARD, column["color"] if moved else CARD, 2
        )
        grade = documents["labels"][document]
        if grade > 0:
            draw.ellipse((10, top + 4, 30, top + 24), column["color"])
            _text(draw, (16, top + 5), str(grade), GRADE, 20)
        _text(
            draw,
            (40, top + 4),
            _name(documents, document),
            RELEVANT if grade > 0 else OTHER,
            width - 100,
        )
        if share == 1 and (far := start - end):
            change = f"+{far}" if far > 0 else f"−{-far}"
            _text(draw, (width - 44, top + 4), change, NOTE, 44)
    return picture


def _name(documents: Mapping[str, Any], document: int) -> str:
    """Title of a document, or its id if there is no title or the font lacks its letters."""
    titles = documents.get("title") or [""] * len(documents["ids"])
    title = str(titles[document])
    readable = title and max(map(ord, title)) <= LAST_LETTER
    return title if readable else str(documents["ids"][document])


def _text(
    draw: ImageDraw.ImageDraw, place: tuple[int, int], text: str, look: tuple[int, str], width: int
) -> None:
    """Draw a line of text of this size and colour, shortened to a width in pixels."""
    size, ink = look
    font = ImageFont.load_default(size)
    shown = text.translate(ABSENT)
    while shown and draw.textlength(shown, font) > width:
        shown = shown[:-2].rstrip() + "…"
    draw.text(place, shown, ink, font)

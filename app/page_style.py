"""Style of pages beyond Streamlit's theme: CSS in the page's head.

The CSS is there before anything is drawn, so that nothing moves when it loads. Pages follow the
browser's light or dark mode; there is no other theme.
"""

from importlib.resources import files

from shuffleproof.app.figures.style import BRIGHTER


def _drawn_in(color: str) -> str:
    """CSS selectors of marks, lines and letters of a colour, in figures and sidebar."""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    marks = f'.js-plotly-plot :is(path, text)[style*="rgb({red}, {green}, {blue})"]'
    return f'{marks}, [data-testid=stSidebar] span[style*="{color}" i]'


DARK = "\n".join(
    f"  {_drawn_in(color)} {{ filter: brightness({factor}); }}"
    for color, factor in BRIGHTER.items()
)
"""CSS rules that brighten rankers' colours on the dark page."""

_PAGE = (files("shuffleproof.app") / "assets" / "page.css").read_text(encoding="utf-8")
LOOKS = f"<style>\n{_PAGE.replace('/* dim colours */', DARK)}</style>"
"""CSS of all pages: less space above the title, greyed sample results, readable contrast in light
and dark, reserved room for late parts, immediate reaction to clicks."""

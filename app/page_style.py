"""Style of pages beyond Streamlit's theme: CSS in the page's head.

The CSS is there before anything is drawn, so that nothing moves when it loads. Pages follow the
browser's light or dark mode; there is no other theme.
"""

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

LOOKS = """<style>
/* The answer and its picture are in view at 1280 x 720. */
.stApp .stMainBlockContainer { padding-top: 3.5rem; max-width: none; }
.stApp .stMainBlockContainer h1 { font-size: 2rem; padding: .5rem 0; }
@media (min-width: 768px) {
  .stApp .stMainBlockContainer { padding: 1.25rem 3rem 5rem; }
}
.stApp .st-key-of_the_sample { opacity: .6; filter: grayscale(.7); }

/* Text that can be read: 4.5 : 1 on its ground. */
.stApp [data-testid=stCaptionContainer] { opacity: .8; }
.stApp button[data-selected=true] p { color: #a01f33; }
.stApp .js-plotly-plot :is([class*=tick], .infolayer [class*=title]) text,
.stApp .js-plotly-plot text:is([class*=title]) { fill: currentColor !important; }
/* Streamlit's grey in pictures: contrast 3.7 : 1 on white. */
.stApp .js-plotly-plot text[style*="rgb(128, 132, 149)"] { fill: currentColor !important; }

/* What is still to come has its place: the sidebar, the list that moves. */
@media (min-width: 768px) {
  html:not([data-page=present]) .stAppViewContainer:not(:has([data-testid=stSidebar])) > div {
    margin-left: 300px; }
  /* All pages of an area, and the jobs below them, in view. */
  .stApp [data-testid=stSidebarHeader] { height: 1.75rem; margin-bottom: 0; }
}
.stApp .st-key-links_inside { padding-left: 1rem; }
/* What the search found is longer than its box. */
body:has(.st-key-search [aria-expanded=true]) [data-testid=stSelectboxVirtualDropdown] {
  width: min(40rem, 92vw) !important; }
.stApp :is(.st-key-data, .st-key-stop) { min-height: 68px; }
.stApp [class*=st-key-links] [data-testid=stSkeleton] { height: 32px; margin: -6px 0; }
html:not([data-page=""], [data-page=tour]) [data-testid=stMain] [data-testid=stSkeleton] {
  height: 68px; }
html .stApp .st-key-top_row [data-testid=stColumn]:first-child [data-testid=stSkeleton] {
  height: 40px; }
html .stApp [class*=st-key-uploader] [data-testid=stSkeleton] { height: 128px; }
/* Until the picture of a page and all beside it are drawn, nothing below them is: it would move. */
.stApp [data-testid=stLayoutWrapper]:has(.st-key-top_row [data-testid=stSkeleton]) ~ *,
.stApp [data-testid=stLayoutWrapper]:has(.st-key-top_row):not(:has(.st-key-top_row
  [data-testid=stColumn]:first-child :is(.main-svg, [data-testid=stAlert],
  .st-key-cards_place))) ~ * {
  visibility: hidden; height: 0; overflow: hidden; animation: shown 0s 5s forwards; }
@keyframes shown { to { visibility: visible; height: auto; overflow: visible; } }
.stApp .st-key-cards_place { min-height: 500px; }
.stApp .st-key-cards_verdict { min-height: 3.2rem; justify-content: center; }

.stApp a[data-testid=stPageLink-NavLink] p { overflow: hidden; text-overflow: ellipsis; }
/* A link to something on a page is not the page: only those of the navigation are marked. */
.stApp [data-testid=stSidebar] a[data-testid=stPageLink-NavLink][href*="?"] * {
  font-weight: normal; }
.stApp [data-testid=stSidebar] a[data-testid=stPageLink-NavLink][href*="?"]:not(
  :hover, :focus-visible) { background: none; }
.stApp button:active, .stApp a[data-testid=stPageLink-NavLink]:active { filter: brightness(.85); }
.stApp [data-testid=stButtonGroup], .stApp [data-testid=stButtonGroup] > div {
  flex-wrap: wrap; max-width: 100%; }
/* The list below shows finished uploads; here are only those under way or refused. */
.stApp [class*=st-key-uploader] [data-testid=stFileChips] > div >
  div:not(:has([data-testid=stFileChipIconSpinner], [aria-invalid=true])) { display: none; }
.stApp [class*=st-key-uploader] [aria-label="Add files"] { width: auto; white-space: nowrap; }
.stApp [class*=st-key-uploader] [aria-label="Add files"]::after { content: "Add files"; }
.stApp [class*=st-key-glossary] h3 { font-size: 1rem; padding: 0; }

/* On a projector: no sidebar, large letters. */
html[data-page=present] .stApp:is(:has(.st-key-presented), :not(:has(h1)))
  :is([data-testid=stSidebar], [data-testid=stHeader],
  [data-testid=stExpandSidebarButton]) { display: none; }
.stApp .st-key-presented :is(h1, h1 *) { font-size: 24px; line-height: 1.4; padding: 0; }
.st-key-presenting { opacity: .8; }

@media (max-width: 640px) {
  .stApp .st-key-top_row [data-testid=stColumn]:first-child:not(:has(.main-svg,
    [data-testid=stAlert], .st-key-cards_place)) ~ * {
    visibility: hidden; height: 0; overflow: hidden; animation: shown 0s 5s forwards; }
  .stApp .js-plotly-plot .modebar-container { display: none; }
  /* The buttons of a table stand above it: below the heading, not on it. */
  .stApp [data-testid=stElementContainer]:has(> [data-testid=stFullScreenFrame]
    [data-testid=stDataFrame]) { margin-top: 1.75rem; }
  .stApp .st-key-cards_verdict { min-height: 7rem; place-content: flex-start; }
  .stApp .st-key-cards_verdict > [data-testid=stLayoutWrapper] { flex-basis: 100%; }
  .stApp [class*=st-key-fields-] { min-height: 118.5px; }
  .stApp .st-key-convention { flex-wrap: wrap; }
  .stApp .st-key-convention > :first-child { flex-basis: 100%; }
}

@media (prefers-color-scheme: dark) {
/* dim colours */
  .stApp button[data-selected=true] p { color: #ff9aa4; }
  .stApp button:active, .stApp a[data-testid=stPageLink-NavLink]:active { filter: brightness(1.4); }
  /* Heat maps run from the ground's colour: what is light on paper is dark here. */
  .js-plotly-plot :is(.heatmaplayer, .cbfills) { filter: invert(.91) hue-rotate(180deg); }
  .js-plotly-plot .scatterlayer path.point[style*="fill: none"],
  .js-plotly-plot .scatterlayer path.point[style*="fill-opacity: 0"] { filter: brightness(1.5); }
}
</style>""".replace("/* dim colours */", DARK)
"""CSS of all pages: less space above the title, greyed sample results, readable contrast in light
and dark, reserved room for late parts, immediate reaction to clicks."""

"""What a study of every kind is known by: `python -m tests.golden` writes it down anew.

Of `tests.every_study`: key, recipe, trials, means of the values, command, Python, methods,
references, the words of its page and of its report (numbers left out), and the help of its
command. What is written down differs from commit to commit only where a commit says so.
"""

import contextlib
import io
import json
import os
import re
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np

PLACE = Path(__file__).parent / "golden"
NUMBER = re.compile(r"[−-]?\d[\d.,]*(e[−+-]?\d+)?")
TAG = re.compile(r"<(style|script|svg)\b.*?</\1>|<[^>]+>", re.DOTALL)
DURATION = re.compile(r"#+ (h # min|min # s|h|min|s|ms)\b")  # as busy as the machine is
HEX = re.compile(
    r"(?<![.\w])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b|(?<=-)[0-9a-f]{7,64}\b|(?<=#)[0-9a-f]{6,64}\b"
)
TEXTS = ("title", "header", "subheader", "markdown", "caption", "info", "warning", "error")
ROUNDING = frozenset({"deviation-over-floor"})  # another one with other threads
FIELDS = ("selectbox", "multiselect", "number_input", "text_input", "toggle", "slider", "button")


def facts(kind, artefact, root):
    """What a stored study is known by.

    Args:
        kind: of the study, or `benchmark of runs`.
        artefact: of `tests.every_study`.
        root: of the store, which lies at SHUFFLEPROOF_HOME.
    """
    from shuffleproof.app.report import report
    from shuffleproof.core.studies import methods, reproduce
    from shuffleproof.core.studies.result import StudyResult

    result = StudyResult.open(artefact.path)
    recipe, noted = artefact.recipe, artefact.facts
    trials = result.trials[["ranker", "family", "level", "draw"]]
    values = np.asarray(result.values, dtype=np.float64)
    with np.errstate(all="ignore"):
        counted = np.maximum((~np.isnan(values)).sum(axis=-1), 1)
        means = np.nansum(values, axis=-1) / counted
        means = means[:, [name not in ROUNDING for name in result.stored_measures]]
    return {
        "fields": fields(kind),
        "key": artefact.key.digest,
        "recipe": recipe,
        "noted": sorted(noted),
        "files": sorted(path.name for path in artefact.path.iterdir()),
        "columns": sorted(result.trials.columns),
        "trials": [" ".join(map(str, row)) for row in trials.itertuples(index=False)],
        "shape": list(values.shape),
        "undefined": int(np.isnan(values).sum()),
        "means": [" ".join(f"{mean:.6f}" for mean in row) for row in means.reshape(len(means), -1)],
        "command": reproduce.study_command(recipe, noted),
        "python": reproduce.study_python(recipe, noted).splitlines(),
        "methods": methods.paragraph(recipe, noted),
        "references": methods.references(recipe, noted),
        "report": words(TAG.sub("\n", report([artefact.path])).splitlines(), root),
        "page": page(recipe["kind"], artefact, root),
        "help": help_of(recipe["kind"]),
    }


def fields(kind):
    """Default, least and greatest value of what a kind is asked: what is stored stays right."""
    from shuffleproof.core.parameters import parameters
    from shuffleproof.core.studies.registry import STUDIES

    return {
        one.name: f"{'needed' if one.is_required else one.default!r}, {one.low} to {one.high}"
        for one in (parameters(STUDIES[kind]) if kind in STUDIES else ())
    }


def words(lines, root):
    """Lines without numbers, durations, digests and places; empty ones are left out."""
    found = (HEX.sub("#", line.replace(str(root), "STORE")) for line in lines)
    numberless = (NUMBER.sub("#", one).strip() for one in found)
    return [DURATION.sub("# s", line) for line in numberless if line]


def help_of(kind):
    """What the command says of itself."""
    from shuffleproof.core.cli.arguments import main

    told = io.StringIO()
    with (
        mock.patch.dict(os.environ, COLUMNS="100"),
        contextlib.redirect_stdout(told),
        contextlib.suppress(SystemExit),
    ):
        main(["study", kind, "--help"])
    return told.getvalue().splitlines()


def page(kind, artefact, root):
    """The words of a study's page: texts and labels of fields, in their order."""
    test = drawn(kind, artefact)
    texts = [one.value for name in TEXTS for one in test.get(name)]
    texts += [f"{name}: {one.label}" for name in FIELDS for one in test.get(name)]
    texts += [f"figures: {'some' if test.get('plotly_chart') else 'none'}"]
    return words([line for text in texts for line in str(text).splitlines()], root)


def drawn(kind, artefact):
    """A study's page, as a test draws it."""
    from streamlit.testing.v1 import AppTest

    test = AppTest.from_function(script, default_timeout=240, kwargs={"path": kind})
    test.query_params["data"] = str(artefact.facts["data"])
    test.query_params["study"] = str(artefact.key)
    test.run()
    assert not test.exception, test.exception
    return test


def script(path):
    """One page or tab of the dashboard, with the sidebar."""
    import streamlit as st

    from shuffleproof.app import address, sidebar
    from shuffleproof.app.navigation import EVERY, PAGES

    with address.gather():
        sidebar.draw()
        sidebar.watch()
        pages = [st.Page(PAGES[path].draw, title="One", url_path="", default=True)]
        pages += [
            st.Page(page.draw, title=page.title, url_path=page.path or "home")
            for page in EVERY.values()
        ]
        st.navigation(pages).run()


def written(kind):
    """Where what a kind is known by is written down."""
    return PLACE / f"{kind.replace(' ', '-')}.json"


def main():
    """Writes all of it down."""
    from tests.every_study import made

    with tempfile.TemporaryDirectory() as place:
        store, artefacts, _ = made(Path(place))
        os.environ["SHUFFLEPROOF_HOME"] = str(store.root)
        PLACE.mkdir(exist_ok=True)
        for kind, artefact in artefacts.items():
            found = facts(kind, artefact, store.root)
            written(kind).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

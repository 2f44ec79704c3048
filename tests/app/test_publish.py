"""The published site: every file that a page names is there; nothing is loaded from elsewhere."""

import json
import re

import pytest

from shuffleproof.app.publish import SHUFFLES, publish
from shuffleproof.app.study.sample_result import shipped_study
from shuffleproof.core.errors import DataError
from tests.core.gate.test_leaderboard import VALUES, written

MOST_BYTES = 5_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder of a site with two studies and a leaderboard."""
    home = tmp_path_factory.mktemp("site")
    (home / "cards").mkdir()
    written(home / "cards", "mine", VALUES)
    studies = [str(shipped_study(kind).path) for kind in ("initial-ranking", "invariance")]
    settings = {"data": "sample", "queries": [], "studies": studies, "cards": str(home / "cards")}
    publish(home / "site", settings)
    return home / "site"


def test_the_site_is_whole_small_and_needs_no_network(site):
    pages = {path.name: path.read_text(encoding="utf-8") for path in site.iterdir()}
    named = {
        name for text in pages.values() for name in re.findall(r"(?:href|src)='([^']+)'", text)
    }
    assert named <= {*pages}
    assert {"index.html", "plotly.js", "leaderboard.html"} <= {*pages}
    assert sum(path.stat().st_size for path in site.iterdir()) < MOST_BYTES
    assert "mine" in pages["leaderboard.html"]


def test_the_shuffle_has_every_recorded_order(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    recorded = json.loads(re.search(r"id='recorded'>(.*?)</script>", text, re.DOTALL)[1])
    ((start, *shuffles),) = recorded
    assert start["query"] == "599"
    assert len(shuffles) == SHUFFLES
    assert "DLCM loses 90" in shuffles[0]["verdict"]
    count = len(start["documents"]["ids"])
    assert all(sorted(one["shown"]) == list(range(count)) for one in shuffles)


def test_an_unknown_query_is_named_and_nothing_is_written(tmp_path):
    settings = {"data": "sample", "queries": ["599", "nope"], "studies": [], "cards": None}
    with pytest.raises(DataError, match="no test query nope"):
        publish(tmp_path / "site", settings)
    assert not (tmp_path / "site").exists()

"""The README's picture of the dashboard: the Invariance page of the sample in a real Chromium.

`python -m tests.soak.picture` writes `sample_data/dashboard.png` again.
"""

import os
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from shuffleproof.core.execution.jobs_only_one import HOME
from tests import browser

TARGET = Path(HOME) / "sample_data" / "dashboard.png"
HEIGHT = 960
COLORS = 128
SECONDS = 60


def main():
    """Start a server over an empty store, open the page, write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        server = browser.Server(home / "store", home / "server.log")
        server.start(dict(os.environ))
        try:
            _taken(server)
        finally:
            server.close()
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")  # noqa: T201 (a script)


def _taken(server):
    with sync_playwright() as started:
        chromium = started.chromium.launch(
            executable_path=browser.chromium(), args=list(browser.FLAGS)
        )
        visitor = browser.Visitor(chromium, server.url)
        visitor.page.set_viewport_size({"width": 1280, "height": HEIGHT})
        visitor.go("invariance")
        visitor.page.get_by_text("SetRank IMSAB + init moved none").wait_for(timeout=SECONDS * 1000)
        visitor.drawn()
        visitor.page.wait_for_timeout(1000)
        taken = visitor.page.screenshot()
        Image.open(BytesIO(taken)).convert("RGB").quantize(COLORS).save(TARGET, optimize=True)
        visitor.close()
        chromium.close()


if __name__ == "__main__":
    main()

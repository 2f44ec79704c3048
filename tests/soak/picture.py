"""The README's moving picture: a list of the sample shuffled, reversed and put back, in Chromium.

`python -m tests.soak.picture` writes `sample_data/shuffle.gif` again.
"""

import os
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from shuffleproof.core.execution.jobs import HOME
from tests import browser

TARGET = Path(HOME) / "sample_data" / "shuffle.gif"
SIZE = {"width": 1280, "height": 960}
PART = {"x": 330, "y": 240, "width": 920, "height": 640}
"""Of the page: the buttons and the three columns of cards."""

COLORS = 32
STANDING, MOVING = 1600, 60
"""Milliseconds that a list is seen standing, and a frame of one that moves."""

FRAMES = 12


def main():
    """Start a server over an empty store, press the buttons, write the picture."""
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
        visitor.page.set_viewport_size(SIZE)
        visitor.go("")
        visitor.drawn()
        visitor.page.wait_for_timeout(3000)
        frames = [_seen(visitor)]
        times = [STANDING]
        for name in ("Shuffle", "Reverse", "Reset"):
            visitor.page.get_by_role("button", name=name, exact=True).click()
            frames += [_seen(visitor) for _ in range(FRAMES)]
            times += [MOVING] * FRAMES
            visitor.page.wait_for_timeout(1500)
            frames.append(_seen(visitor))
            times.append(STANDING)
        frames[0].save(
            TARGET, save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True
        )
        visitor.context.close()
        chromium.close()


def _seen(visitor):
    taken = visitor.page.screenshot(clip=PART)
    whole = Image.open(BytesIO(taken)).convert("RGB")
    return whole.quantize(COLORS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main()

"""The last shuffle as an animated GIF."""

from io import BytesIO

import numpy as np
from PIL import Image

from shuffleproof.app.figures.animation import FRAMES, WIDTH, shuffle_gif

FACTS = {
    "documents": {"ids": ["a", "b", "c (copy)"], "labels": [3, 0, 1], "title": ["Ant", "日本", ""]},
    "before": [0, 1],
    "shown": [1, 2],
    "words": "shuffled with seed 1",
    "verdict": "DLCM loses 50 % of its NDCG@10.",
    "rankers": [
        {
            "name": "DLCM", "note": "NDCG@10 0.8 → 0.4", "color": "#0072B2", "moved": [False] * 3,
            "before": [0, 1, None], "answered": [None, 0, 1],
        }
    ],
}  # fmt: skip


def test_the_first_and_the_last_frame_show_both_orders():
    picture = Image.open(BytesIO(shuffle_gif(FACTS, "sample · query 599")))
    assert picture.n_frames > FRAMES // 2  # Pillow joins equal frames
    assert picture.width == WIDTH
    frames = []
    for at in (0, picture.n_frames - 1):
        picture.seek(at)
        frames.append(np.asarray(picture.convert("RGB"), dtype=int))
    assert (np.abs(frames[0] - frames[1]) > 30).any()

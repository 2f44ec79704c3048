"""The leaderboard: ranks of rankers from several cards, and cards that cannot be compared."""

from dataclasses import replace

import numpy as np
import pytest

from shuffleproof.core.errors import DataError
from shuffleproof.core.gate.card_file import card_text
from shuffleproof.core.gate.leaderboard import standings
from shuffleproof.core.rankers.name import INITIAL
from tests.core.gate.test_card_file import LEVELS, VALUES, card

NOISE = np.tile(np.float32([0.01, -0.01]), 20)


def written(folder, name, values, **changes):
    """A card of one ranker `name`, in a folder of its own."""
    made = card(np.asarray(values, np.float32), ranker=name, **changes)
    made = replace(
        made,
        rankers={own: replace(ranker, digest=own) for own, ranker in made.rankers.items()},
    )
    (folder / name).mkdir()
    (folder / name / "card.json").write_text(card_text(made))


def test_rankers_that_tests_cannot_separate_share_their_ranks(tmp_path):
    written(tmp_path, "best", VALUES + 0.5)
    written(tmp_path, "one", VALUES + 0.2 + NOISE)
    written(tmp_path, "two", VALUES + 0.2)
    frame = standings(tmp_path).set_index("ranker")
    ranks = {name: (row["first"], row["last"]) for name, row in frame.iterrows()}
    assert ranks == {"best": (1, 1), "one": (2, 3), "two": (2, 3), "initial ranking": (4, 4)}
    assert frame.loc["best", "card"] == "best/card.json"
    assert frame.loc["best", "perturbed"] == pytest.approx(VALUES.mean() + 0.5, abs=1e-6)
    assert frame["kept"].eq(1).all()


def test_cards_of_other_lists_are_another_group(tmp_path):
    written(tmp_path, "here", VALUES)
    lists = {"digest": "f" * 64, "recipe": {"initial": ["mart"]}, "preset": "small"}
    written(tmp_path, "there", VALUES + 0.5, lists=lists)
    frame = standings(tmp_path)
    assert len(frame) == 4
    assert frame.loc[frame["ranker"] == "there", "first"].item() == 1
    assert frame.loc[frame["ranker"] == "here", "first"].item() == 1


def test_a_folder_without_cards_and_a_file_that_is_none_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"no card\.json"):
        standings(tmp_path)
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(DataError, match=r"x\.json"):
        standings(tmp_path)


@pytest.mark.parametrize("level", LEVELS)
def test_a_ranker_without_a_condition_is_refused(tmp_path, level):
    kept = {
        condition: values
        for condition, values in card().conditions.items()
        if condition[0] == INITIAL or condition[-1] != level
    }
    (tmp_path / "card.json").write_text(card_text(card(conditions=kept)))
    with pytest.raises(DataError, match=f"mine has no NDCG@10 under transpositions at {level:g}"):
        standings(tmp_path)


def test_a_card_of_unchanged_lists_only_is_refused(tmp_path):
    kept = {name: values for name, values in card().conditions.items() if name[-1] == 0}
    (tmp_path / "card.json").write_text(card_text(card(conditions=kept)))
    with pytest.raises(DataError, match=r"no NDCG@10 under a perturbation"):
        standings(tmp_path)

"""Leaderboards: what is read, and ranks, removals and winners against brute force."""

import json
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import DataError
from shuffleproof.core.gate import differences
from shuffleproof.core.gate.boards import leaderboard
from shuffleproof.core.gate.leaderboard import rank_intervals, resampled_means
from tests.core.gate.test_leaderboard import VALUES, written


def changes_the_winner(values, tasks):
    left = np.delete(values, tasks, axis=1)
    if np.isnan(left).all(axis=1).any():
        return False
    means, winner = np.nanmean(left, axis=1), int(np.argmax(np.nanmean(values, axis=1)))
    return means.max() > means[winner]


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(12))
def test_no_smaller_set_of_tasks_changes_the_winner(seed, missing):
    random = np.random.default_rng(seed)
    values = random.random((4, 6)) + random.random((4, 1)) / 2
    values[:, 1:][random.random((4, 5)) < missing] = np.nan
    found, winner = differences.smallest_removal(values)
    sets = [list(one) for size in range(1, 6) for one in combinations(range(6), size)]
    smallest = next((len(one) for one in sets if changes_the_winner(values, one)), None)
    assert (len(found) or None) == smallest
    if winner is not None:
        assert changes_the_winner(values, found)
        assert np.nanmean(np.delete(values, found, axis=1), axis=1).argmax() == winner


def test_ranks_are_those_of_the_middle_of_the_resamples():
    resampled = np.random.default_rng(0).random((1000, 5)) + np.arange(5) / 4
    ranks = rankdata(-resampled, axis=1)
    _, low, high = rank_intervals(resampled.mean(axis=0), resampled)
    assert ((ranks < low).mean(axis=0) <= 0.025).all()
    assert ((ranks > high).mean(axis=0) <= 0.025).all()
    assert ((ranks <= low).mean(axis=0) > 0.025).all()
    assert ((ranks >= high).mean(axis=0) > 0.025).all()


def test_resamples_draw_the_same_tasks_for_all_systems():
    values = np.random.default_rng(1).random((2, 30))
    values[1] = values[0] - 0.001
    resampled = resampled_means(values)
    np.testing.assert_allclose(resampled[:, 0] - resampled[:, 1], 0.001)
    rows = leaderboard(pd.DataFrame(values).assign(name=["a", "b"]).set_index("name").reset_index())
    assert rows.rows["badge"].tolist() == ["rank 1 (1–1)", "rank 2 (2–2)"]


@pytest.mark.parametrize("seed", range(8))
def test_kemeny_s_winner_is_first_in_a_best_order(seed):
    values = np.random.default_rng(seed).random((5, 6))
    board = differences.of_scores([*"abcde"], [*"123456"], values)
    wins = (values[:, None] > values).sum(axis=2)
    costs = {
        order: sum(wins[low, high] for high, low in combinations(order, 2))
        for order in permutations(range(5))
    }
    best = {order[0] for order, cost in costs.items() if cost == min(costs.values())}
    assert "abcde".index(board.winners["Kemeny"]) in best
    assert board.winners["mean"] == "abcde"[values.mean(axis=1).argmax()]


def test_missing_cells_are_counted_in_every_way():
    table = "s,1,2,3,4,5\na,.9,,,,\nb,.5,.6,.7,.6,.5\n"
    board = leaderboard(pd.DataFrame([line.split(",") for line in table.split()[1:]]))
    ways = board.missing["winners"]
    assert board.missing["cells"] == 4
    assert ways["missing cells are left out"] == "a"
    assert ways["they count as 0"] == "b"
    assert ways["only complete tasks count"] == "a"


def test_elo_depends_on_the_order_of_games_and_bradley_terry_does_not(tmp_path):
    games = [("a", "b", "model_a"), ("b", "c", "b"), ("c", "a", "c"), ("a", "b", "tie")] * 9
    shuffled = [games[at] for at in np.random.default_rng(0).permutation(len(games))]
    frames = [
        pd.DataFrame(one, columns=["model_a", "model_b", "winner"]) for one in (games, shuffled)
    ]
    first, second = map(leaderboard, frames)
    scores = [one.rows.set_index("system")["score"].sort_index() for one in (first, second)]
    np.testing.assert_allclose(*scores, atol=1e-9)
    assert any(low < high for low, high in first.elo.values())
    assert "Elo depends on the order" in first.sentences[-1]


def test_a_table_of_wins_that_is_listed_against_them_is_explained():
    counts = {"system": ["x", "y"], "elo": [1200, 1100], "wins": [693, 1180], "losses": [1340, 840]}
    explained = leaderboard(pd.DataFrame(counts)).sentences[-1]
    assert explained.startswith("y (58.4 % of 2,020 games) is listed below x (34.1 %")
    counts["elo"] = [1100, 1200]
    assert "listed below" not in " ".join(leaderboard(pd.DataFrame(counts)).sentences)


def test_equal_means_share_a_rank_whatever_the_order_of_their_scores():
    """Their sums differ in the last bit."""
    scores = pd.DataFrame([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.1, 0.3, 0.2]])
    scores.insert(0, "system", ["one", "two", "three"])
    assert leaderboard(scores).rows["rank"].tolist() == [1, 1, 1]
    tie = np.array([[0.6, 0.1, 0.2, 0.3], [0.0, 0.3, 0.2, 0.1]])
    assert differences.smallest_removal(tie) == ([0, 3], 1)


@pytest.mark.parametrize("games", [1, 4])
def test_few_games_won_by_one_system_separate_nothing(games):
    won = pd.DataFrame({"model_a": "x", "model_b": "y", "winner": ["model_a"] * games})
    assert leaderboard(won).rows["high"].tolist() == [2, 2]
    counts = pd.DataFrame({"system": ["x", "y"], "wins": [games, 50], "losses": [0, 50]})
    assert leaderboard(counts).rows["high"].tolist() == [2, 2]


def test_cards_are_compared_by_query(tmp_path):
    written(tmp_path, "best", VALUES + 0.5)
    written(tmp_path, "other", VALUES + 0.2)
    rows = leaderboard(tmp_path).rows
    assert rows["system"].tolist() == ["best", "other", "initial ranking"]
    assert rows["score"].iloc[0] == pytest.approx(VALUES.mean() + 0.5)
    lists = {"digest": "f" * 64, "recipe": {"initial": ["mart"]}, "preset": "small"}
    written(tmp_path, "elsewhere", VALUES, lists=lists)
    with pytest.raises(DataError, match="2 kinds of lists"):
        leaderboard(tmp_path)


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("system,web\n", "0 systems"),
        ("system,web\na,.5\n", "1 system"),
        ("system,web\na,.5\nb,high\n", r"x\.csv:3: 'high' in column web is no number"),
        ("system,web\na,.5\nb,inf\n", "is no number"),
        ("system,web\na,.5\na,.6\n", r"x\.csv:3: a is there twice"),
        ("system,web,law\na,.5,.4\nb,,\n", "b has no score"),
        ("model_a,model_b,winner\na,b,c\n", "'c' is no winner of a and b"),
        ("model_a,model_b,winner\na,b,\n", r"x\.csv:2: '' is no winner of a and b"),
        ("model_a,model_b,winner\na,a,tie\n", "1 system"),
        ("system,wins,losses\na,3,1\nb,0,0\n", "no game"),
    ],
)
def test_other_tables_are_refused_by_line(tmp_path, text, finding):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(DataError, match=finding):
        leaderboard(tmp_path / "x.csv")


def test_the_command_prints_ranks_and_sentences(tmp_path, capsys):
    table = pd.DataFrame(np.random.default_rng(2).random((30, 8))).round(3)
    table.insert(0, "system", [f"s{at}" for at in range(30)])
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["leaderboard", str(tmp_path / "t.csv")]
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {"system", "score", "rank", "low", "high", "group"} <= answer["rows"][0].keys()
    assert set(answer["winners"]) == set(differences.RULES)
    assert answer["removal"].keys() == {"tasks", "winner"}
    assert main(words) == 0
    assert " ".join(answer["sentences"]) in capsys.readouterr().out

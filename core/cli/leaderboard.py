"""Command that examines a leaderboard."""

import argparse

from shuffleproof.core.cli.answer import Answer, table
from shuffleproof.core.gate import boards

SHOWN = 20


def leaderboard(arguments: argparse.Namespace) -> Answer:
    """`leaderboard`: ranks with intervals, winners by rule, and what the winner depends on."""
    board = boards.leaderboard(arguments.table)
    rows = board.rows.to_dict("records")
    shown = board.rows[["system", "score", "badge", "group"]].to_dict("records")
    text = f"{table(shown[:SHOWN])}\n\n{' '.join(board.sentences)}"
    details = table(shown[SHOWN:]) if shown[SHOWN:] else ""
    return Answer(vars(board) | {"rows": rows}, text, details=details)

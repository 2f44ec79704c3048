"""The command line: `shuffleproof`, also `python -m shuffleproof`. No logic is here."""

"""The command line: `shuffleproof`, also `python -m core`. Prints and exit codes, no logic."""

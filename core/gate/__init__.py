"""The gate: is a ranker worse than its stored card."""

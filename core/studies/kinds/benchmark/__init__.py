"""Table 2: comparison of rankers."""

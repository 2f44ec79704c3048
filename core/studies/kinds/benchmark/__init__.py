"""Table 2: rankers side by side."""

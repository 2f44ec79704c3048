"""Search for the most harmful order within a budget."""

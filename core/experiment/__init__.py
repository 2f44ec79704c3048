"""What studies stand on: where lists come from, named sets of rankers, costs, scores reused."""

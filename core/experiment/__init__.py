"""Foundations of studies: sources of lists, named sets of rankers, costs, reuse of scores."""

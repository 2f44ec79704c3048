"""Rank aggregation: preferences in, one order out."""

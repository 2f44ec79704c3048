"""Permutation invariance: certificates of rankers."""

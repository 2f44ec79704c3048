"""Preference functions that are trained: how likely one document is better than another."""

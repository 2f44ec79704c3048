"""Anything that may happen to an input."""

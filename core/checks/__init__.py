"""Checks of a single ranker: assertions for tests, and the doctor of rankers."""

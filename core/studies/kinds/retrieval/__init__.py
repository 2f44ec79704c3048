"""Effectiveness and cost of retrievers."""

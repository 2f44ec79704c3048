"""Spread of trainings under other row, query and column orders and seeds."""

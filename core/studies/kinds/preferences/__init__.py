"""Aggregators of preferences that are cyclic, noisy, or few."""

"""Perturbations: what may happen to a ranker's input."""

"""Perturbations of any kind of input."""

"""Attention of trained networks in one list: maps of weights, and numbers computed from them."""

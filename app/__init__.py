"""Shuffleproof's dashboard: choices, calls of the core, drawing."""

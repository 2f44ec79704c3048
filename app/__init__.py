"""Shuffleproof's screen: choose, call the core, draw."""

"""Measures of relevance and agreement, and the statistics on them."""

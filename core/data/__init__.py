"""Ranking data: LETOR text, data sets, candidate lists, batches."""

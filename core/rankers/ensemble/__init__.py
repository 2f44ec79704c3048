"""Rankers made of rankers: fusion, and shuffle-and-aggregate."""

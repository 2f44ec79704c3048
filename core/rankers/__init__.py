"""Rankers: anything that scores candidate lists, and how each is fitted."""

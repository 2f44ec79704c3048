"""Answers of the resident scoring process about one list or one query."""

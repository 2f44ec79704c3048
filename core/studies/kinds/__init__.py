"""Kinds of studies: question, computation and result sections of each."""

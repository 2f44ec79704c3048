"""Rankers from outside: Python functions and model files, each in a process of its own."""

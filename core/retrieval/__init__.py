"""Sparse retrieval: collections, indexes, lexical and learned."""

"""How well retrievers find what answers a query, and at what cost."""

"""Text collections: documents, queries and judgments, and what finds the one for the other."""

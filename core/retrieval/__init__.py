"""Text collections (documents, queries and judgments) and retrievers."""

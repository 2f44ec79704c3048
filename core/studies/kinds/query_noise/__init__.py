"""What noise in the text of queries costs retrievers."""

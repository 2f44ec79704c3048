"""Certified top k: documents that stay in the top K whatever is added to a list."""

"""Recorded and live answers of rerankers: lists as they were shown, and as they came back."""

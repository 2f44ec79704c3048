"""Shared parts of studies of data without candidate lists: text collections, preferences."""

"""The page `retrieval`."""

"""The page of external rankers."""

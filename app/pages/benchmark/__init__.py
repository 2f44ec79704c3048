"""The page `benchmark`."""

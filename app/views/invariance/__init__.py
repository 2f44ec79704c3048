"""The page `invariance`."""

"""The page `train`."""

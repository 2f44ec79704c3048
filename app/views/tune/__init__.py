"""The page `tune`."""

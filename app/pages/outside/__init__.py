"""The page `outside`."""

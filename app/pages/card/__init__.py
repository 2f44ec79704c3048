"""The page `card`."""

"""The page `data`."""

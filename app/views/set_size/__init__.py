"""The page `set-size`."""

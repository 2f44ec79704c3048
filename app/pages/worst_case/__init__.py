"""The page `worst-case`."""

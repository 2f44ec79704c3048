"""The page `library`."""

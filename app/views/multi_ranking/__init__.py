"""The page `multi-ranking`."""

"""The page `ranking-degradation`."""

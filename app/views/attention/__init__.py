"""The page `attention`."""

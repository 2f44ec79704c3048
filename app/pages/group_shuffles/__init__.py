"""The page `group-shuffles`."""

"""The page of preferences between pairs."""

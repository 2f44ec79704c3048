"""Networks as rankers: their recipes, what they are fed, many orders at once."""

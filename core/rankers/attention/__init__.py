"""What trained networks look at in one list: maps of weights, and numbers of them."""

"""Table 3: lists of other lengths than in training."""

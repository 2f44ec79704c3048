"""Table 3: lists of other lengths than those trained on."""

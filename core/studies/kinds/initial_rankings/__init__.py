"""Table 4: none, one or many initial rankings."""

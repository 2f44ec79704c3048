"""Figure 3: the initial ranking gets worse."""

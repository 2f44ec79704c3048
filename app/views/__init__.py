"""The pages: a folder each; none knows another."""

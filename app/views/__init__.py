"""Pages: one file each; each chooses, calls and draws."""

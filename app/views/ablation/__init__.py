"""The page `ablation`."""

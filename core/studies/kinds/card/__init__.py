"""The robustness card."""

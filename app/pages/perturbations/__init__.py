"""The page `perturbations`."""

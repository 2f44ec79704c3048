"""How far GSF is from equivariance."""

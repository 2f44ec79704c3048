"""Equivariance error of GSF, by its number of shuffles."""

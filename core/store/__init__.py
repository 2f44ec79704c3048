"""Artefacts on disk, found by the digest of what made them."""

"""Artefacts by content key: temporary directory + rename, lock, list, verify."""

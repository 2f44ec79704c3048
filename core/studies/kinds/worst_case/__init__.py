"""The order within a budget that hurts most."""

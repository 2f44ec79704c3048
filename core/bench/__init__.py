"""Benchmarks: our speed beside a peer's, both measured in one run."""

"""What one ranker is asked on its own: assertions of tests, and the doctor of rankers."""

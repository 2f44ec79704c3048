"""What becomes of aggregators when preferences contradict themselves, are noisy, or are few."""

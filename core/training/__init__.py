"""Training of networks: recipe, loop, schedule, checkpoints."""

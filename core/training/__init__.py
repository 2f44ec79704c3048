"""How a network is trained: recipe, loop, schedule, checkpoints."""

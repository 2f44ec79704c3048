"""Shuffleproof's core: data, rankers, perturbations, measures and studies, without a screen."""

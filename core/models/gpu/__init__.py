"""Layers of the networks as Triton's kernels; each has a test of equality with PyTorch's."""

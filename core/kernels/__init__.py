"""Whether kernels of Triton compile for a GPU of this machine."""

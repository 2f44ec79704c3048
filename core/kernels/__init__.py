"""Check if Triton's kernels compile for a GPU of this machine."""

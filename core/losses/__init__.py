"""Loss functions: tensors in, one value a list out."""

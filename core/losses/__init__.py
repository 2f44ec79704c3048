"""Loss functions: tensors in, one value per list out."""

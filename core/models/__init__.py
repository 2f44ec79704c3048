"""Networks: tensors in, tensors out; no device, no training."""

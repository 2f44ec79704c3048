"""Studies: a pure plan, a resumable run, a cube of per-query values."""

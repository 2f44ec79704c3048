"""Several rankings of the same documents made one."""

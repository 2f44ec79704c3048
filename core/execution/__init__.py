"""Where work runs: devices and executors."""

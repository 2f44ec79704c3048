"""Execution: devices, executors, worker processes and jobs."""

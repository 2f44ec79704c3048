"""The library: stored entries, their origins and dependents; uploads and archives."""

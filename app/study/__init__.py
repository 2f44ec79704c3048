"""Common parts of study pages: widgets, forms, the job panel, per-query results."""

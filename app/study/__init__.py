"""What the pages of studies share: parts, forms, the job panel, queries behind a number."""

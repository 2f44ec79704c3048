"""Paper against released code, one difference at a time."""

"""What the resident scoring process answers about one list or one query."""

"""What every head looks at."""

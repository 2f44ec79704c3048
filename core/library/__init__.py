"""What is stored: entries, where they come from, what needs them; uploads and archives."""

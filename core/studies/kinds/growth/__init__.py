"""What documents that came after training cost retrievers."""

"""What makes a learnt index sparse, and what that costs."""

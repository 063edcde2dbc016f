"""What a node counts of its own work."""

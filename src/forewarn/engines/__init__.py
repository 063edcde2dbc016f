"""What an impact really does to a machine."""

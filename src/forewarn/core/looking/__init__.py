"""What can be seen in a region or in its facts. Nothing changes by looking."""

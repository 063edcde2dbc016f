"""What happened in a region as one page that needs nothing else: the same for a test and for a simulated week."""

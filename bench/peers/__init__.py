"""Other servers that give the same answer, for comparison."""

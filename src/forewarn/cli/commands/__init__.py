"""The commands, one module for each noun that a person types."""

"""What the program tells of itself for the documentation: commands, settings, files."""

"""What a server is told: the table of settings, and the files and flags they come from. Needs no package."""

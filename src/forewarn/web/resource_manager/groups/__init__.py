"""What stands around resources: their groups, what is in these and how they are deleted, and the one subscription."""

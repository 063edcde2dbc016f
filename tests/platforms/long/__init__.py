"""``make machines``: what is done to real machines is killed in the middle, again and again, and a table is kept."""

"""``forewarn demo``: a region of a dozen VMs and one story for each event type."""

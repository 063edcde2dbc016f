"""What the agent remembers across crashes and reboots."""

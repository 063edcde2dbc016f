"""What the agent should do, from what it knows. Pure: it does nothing, tells nothing and keeps nothing."""

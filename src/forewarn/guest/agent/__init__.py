"""The agent: it prepares, approves, restores, never makes an outage worse, and can explain itself."""

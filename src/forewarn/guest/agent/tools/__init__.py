"""What people run beside the agent: explain, check, status, install."""

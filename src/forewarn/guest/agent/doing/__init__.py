"""What the agent does: programs and calls under a time budget, and approvals."""

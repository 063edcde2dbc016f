"""The barrier before a shared event: every VM it names is ready before one of them approves."""

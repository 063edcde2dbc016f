"""What the journal tells of the past: who asked for what, what happened on the way, and events that have ended."""

"""What a run leaves to be read: its history, the summary, the timeline, and the trace that two runs are compared by."""

"""Real machines as values. No engine is named here.

A VM of a region is pretended unless it has a machine. What is done to a real one is an *errand*: a wanted state with a
precondition, not a verb. "Restart" reads: runs, with a boot mark other than the one it had when this was asked. So an
errand may be asked for again after any crash, and has the effect of asking once. What an engine says is there now is a
*sighting*.
"""

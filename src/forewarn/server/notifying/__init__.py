"""A region tells people of what should not stay so. Nothing of it is a fact: the journal does not hear of it."""

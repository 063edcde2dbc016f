"""Hints for pages that show a region while it changes: that something has changed, and what to look at again."""

"""Journals behind one port, a package for each kind."""

"""The journal in a directory: one SQLite file, one server at a time."""

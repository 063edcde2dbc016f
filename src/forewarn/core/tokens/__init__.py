"""Tokens of people and programs that work with a region."""

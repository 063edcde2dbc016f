"""Recipes for tests in other languages, run by the tools of those languages."""

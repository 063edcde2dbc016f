"""The routes of the operator API, one module for each noun."""

"""What forewarn costs, measured beside its peers in one run: ``python -m bench``. See docs/performance.md."""

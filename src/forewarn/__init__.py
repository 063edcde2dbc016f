"""Azure Scheduled Events as software anyone can run."""

__version__ = "0.2.0"

"""Azure Scheduled Events as software anyone can run."""

__version__ = "0.1.0"

"""The same at other doors: command lines, requests, templates."""

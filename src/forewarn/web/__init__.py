"""The faces, and what several of them need."""

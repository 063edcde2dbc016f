"""What callers of the operator API send and what they are answered: the shapes that OpenAPI shows."""

"""Whether a run was right: what guests were answered, and what agents promise, held against the oracle."""

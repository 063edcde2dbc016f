"""The journal in PostgreSQL: one region in one schema, shared by any number of nodes. Needs the postgresql extra."""

"""``agent.toml``: its values, its defaults, and reading it with complaints that name a line."""

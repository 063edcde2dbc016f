"""A running server: parts put together from settings, its sockets, and its life. Needs the server extra."""

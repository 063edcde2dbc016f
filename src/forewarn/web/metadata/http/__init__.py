"""The metadata face's own HTTP: sockets, connections, and the parser with its limits."""

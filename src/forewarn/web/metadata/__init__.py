"""The face that guests see: scheduled events and instance data over plain HTTP, on sockets of its own."""

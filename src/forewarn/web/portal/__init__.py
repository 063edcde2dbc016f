"""The portal: pages on the control port, made on the server, over what the operator face answers."""

"""What a client needs before its first request: certificate, token, and where everything is."""

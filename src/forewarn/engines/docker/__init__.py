"""Containers as machines, on any engine that speaks Docker's API: dockerd and podman were tried."""

"""What the agent tells: log, metrics, pages, notifications, systemd."""

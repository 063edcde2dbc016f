"""What holds in every region, whatever was asked of it and in whatever order."""

"""What a server tells of itself to those who watch many: metrics. Below the faces, above the plane."""

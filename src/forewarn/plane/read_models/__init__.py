"""What lists, searches and counts need of a region: made at the first request, then kept up by what is published."""

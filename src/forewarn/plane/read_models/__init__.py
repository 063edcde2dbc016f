"""What lists, searches and counts need of a region: made when somebody asks, kept up by what is published."""

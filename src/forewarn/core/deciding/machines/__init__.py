"""What is decided about real machines: their hosts, their errands, and what is seen of them."""

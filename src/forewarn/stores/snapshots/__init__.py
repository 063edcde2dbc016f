"""A region as bytes: how it is taken apart, written, checked, and which of the kept ones is used."""

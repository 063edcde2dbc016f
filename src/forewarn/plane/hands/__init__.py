"""What carries errands to engines, and brings back what became of them and what was seen."""

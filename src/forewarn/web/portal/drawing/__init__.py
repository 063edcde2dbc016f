"""Time from left to right: places on an axis, and what stands there."""

"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# The machine is small and busy: how long an example took says nothing about the code. CI must say the same twice.
settings.register_profile("forewarn", deadline=None, derandomize=True)
settings.load_profile("forewarn")

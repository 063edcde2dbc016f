"""No test here depends on how fast the machine is."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("unhurried", parent=settings(), deadline=None)
settings.load_profile("unhurried")

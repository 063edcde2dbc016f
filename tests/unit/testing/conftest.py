"""The fixture as users get it, whether or not this environment was installed after the plugin had its entry point."""

from __future__ import annotations

from forewarn.testing.plugin import open_regions, region

__all__ = ["open_regions", "region"]

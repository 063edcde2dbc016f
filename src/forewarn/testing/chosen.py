"""The settings of a test's region: those of a server that tell how a region behaves, by the same names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from forewarn.core.rules import Rules
from forewarn.engines.simulated import SimulatedEngine
from forewarn.server.parts import engine_of, metadata_settings, rules_of
from forewarn.settings.errors import CommandFailed
from forewarn.settings.near import near_miss
from forewarn.settings.resolve import resolve
from forewarn.settings.table import SETTINGS
from forewarn.settings.times import show_duration
from forewarn.web.metadata.settings import MetadataSettings

Choice: TypeAlias = str | int | float | timedelta

# How a region behaves. Where a server listens and keeps things, and what it logs, is nothing of a test's.
_PLAIN = (
    *("profile", "update_domains", "fault_domains", "vms_per_host", "availability_set_size", "user_operation_limit"),
    *("disable_after", "first_read_delay", "visibility_lag", "throttle_per_second", "not_before_format"),
    *("unknown_event", "reboot_impact", "redeploy_impact", "eviction_impact", "deletion_impact"),
)
CHOICES = (*_PLAIN, *(name for name in SETTINGS if name.startswith(("notice_", "recovery_", "duration_"))))


@dataclass(frozen=True)
class RegionChoices:
    rules: Rules
    metadata: MetadataSettings
    engine: SimulatedEngine


def choose(given: Mapping[str, Choice]) -> RegionChoices:
    """The environment is not looked at: a test means the same on every machine."""
    for name in given:
        if name not in CHOICES:
            hint = near_miss(name, CHOICES) or "; docs/settings.md has the list"
            raise ValueError(f"a region of a test has no setting {name!r}{hint}")
    try:
        settings = resolve({name: _text(value) for name, value in given.items()}, {})
    except CommandFailed as problem:
        raise ValueError(problem.message) from None
    return RegionChoices(rules_of(settings), metadata_settings(settings), engine_of(settings))


def _text(value: Choice) -> str:
    return show_duration(value) if isinstance(value, timedelta) else str(value)

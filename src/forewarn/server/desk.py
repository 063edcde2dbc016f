"""Desk mode: a server behind published ports, where nothing tells which VM a caller is.

Whoever reaches the metadata port may name any VM, so nothing of worth may hang on it: no real machines, no store that
others share. The control faces keep a token; where none was given, one is made and printed.
"""

from __future__ import annotations

import base64
from dataclasses import replace

from forewarn.core.region import Region
from forewarn.plane.system import SYSTEM
from forewarn.settings.errors import CommandFailed
from forewarn.settings.machine_entries import Declared
from forewarn.settings.resolve import Settings

WARNING = "Desk mode: whoever reaches the metadata port can be any VM. Publish it on 127.0.0.1 only."
_TOKEN_BYTES = 24  # as many random bits as no one guesses; a token that a person can copy


def prepared(settings: Settings) -> tuple[Settings, str]:
    """The settings with a token, and the token if it was made here: nobody else knows it yet."""
    if not settings.desk or settings.token:
        return settings, ""
    token = base64.urlsafe_b64encode(SYSTEM.random_bytes(_TOKEN_BYTES)).decode()
    return replace(settings, token=token), token


def refuse_engines(declared: Declared) -> None:
    """Refuse desk mode with declared engines. Called before anything is opened."""
    if declared.engines:
        raise CommandFailed("desk mode lets anybody approve for any VM, so it runs no engines: leave off one of them.")


def refuse_adopted(region: Region) -> None:
    """Refuse desk mode for a region that has adopted machines. Called before anything listens."""
    if region.machines:
        raise CommandFailed(
            f"this region has {len(region.machines)} adopted machines, and desk mode lets anybody approve for any VM: "
            "start it without --desk, or release them first."
        )

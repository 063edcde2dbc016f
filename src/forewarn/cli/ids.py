"""Ids by their beginnings, as tables show them: enough where only one begins so."""

from __future__ import annotations

from collections.abc import Iterable

from forewarn.settings.errors import CommandFailed, Exit, usage
from forewarn.settings.near import near_miss

LENGTH = 36  # of a GUID with its hyphens
SHORTEST = 4  # git's shortest abbreviation of an id, too


def is_whole(text: str) -> bool:
    return len(text) >= LENGTH


def complete(beginning: str, ids: Iterable[str], what: str) -> str:
    """The one id that begins so. ``what`` says among which things it was looked for."""
    if len(beginning) < SHORTEST:
        raise usage(f"{beginning!r} is too short for the beginning of an id; give {SHORTEST} characters or more.")
    known = set(ids)
    found = [each for each in known if each.lower().startswith(beginning.lower())]
    if not found:
        hint = near_miss(beginning, {each[: len(beginning)] for each in known}) or "."
        raise CommandFailed(f"no {what} has an id that begins with {beginning!r}{hint}", Exit.NOT_FOUND)
    if len(found) > 1:
        raise CommandFailed(f"{len(found)} of them have ids that begin with {beginning!r}; give more of it.")
    return found[0]

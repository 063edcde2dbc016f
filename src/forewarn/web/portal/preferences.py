"""A visitor's preferences: theme, time zone, single-key shortcuts. The cookie holds nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from urllib.parse import parse_qsl, urlencode

COOKIE = "forewarn-look"
CHOICES: Mapping[str, tuple[str, ...]] = {
    "theme": ("auto", "light", "dark"),
    "zone": ("utc", "local", "relative"),
    "keys": ("on", "off"),
}


@dataclass(frozen=True)
class Preferences:
    """The first of the choices is the default."""

    theme: str = "auto"
    zone: str = "utc"
    keys: str = "on"

    def changed(self, given: Mapping[str, str]) -> Preferences:
        """With those of the given choices that there are."""
        mine = {each.name: getattr(self, each.name) for each in fields(self)}
        wanted = {name: value for name, value in given.items() if value in CHOICES.get(name, ())}
        return Preferences(**{**mine, **wanted})

    def cookie(self) -> str:
        return urlencode({each.name: getattr(self, each.name) for each in fields(self)})


def preferences_of(cookies: Mapping[str, str]) -> Preferences:
    """What the cookie says; nonsense in it means the default."""
    return Preferences().changed(dict(parse_qsl(cookies.get(COOKIE, "")[:200])))

"""Tokens of people and programs that work with a region: what each may do, and that it was made or revoked.

A token itself is told once, to whoever made it. The region knows a digest of it, by which it is recognized and from
which nobody gets it back.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct


class Role(StrEnum):
    """What the bearer of a token may do; each may do what the ones before it may, but for a relay."""

    READ = "read"  # look at everything, change nothing
    OPERATE = "operate"  # everything but what only an admin may
    ADMIN = "admin"  # make and revoke tokens, too
    RELAY = "relay"  # speak for some VMs as these could themselves, and see nothing else

    def may(self, wanted: Role) -> bool:
        order = (Role.READ, Role.OPERATE, Role.ADMIN)
        if wanted is Role.RELAY:
            return self is not Role.READ
        if self is Role.RELAY:
            return False
        return order.index(self) >= order.index(wanted)


class AccessToken(Struct, frozen=True, gc=False):
    """A token that holds. No two of a region have the same name."""

    id: str
    name: str  # of the person or program, as activity shows it
    role: Role
    digest: str  # SHA-256 of the token, in hex; a token is 256 random bits, so nothing slower is needed
    made_at: datetime
    vms: tuple[str, ...] = ()  # of a relay: the VMs that it may speak for, in lower case
    host: str = ""  # of a relay: it may speak for those that are on this host


class MakeToken(Struct, frozen=True):
    id: str
    name: str
    role: Role
    digest: str
    vms: tuple[str, ...] = ()
    host: str = ""


class RevokeToken(Struct, frozen=True):
    """By its name or its id."""

    token: str


TokenCommand: TypeAlias = MakeToken | RevokeToken

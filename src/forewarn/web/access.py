"""Who a token lets in, and what they may do: the server's own token, which may do everything, and those of the region.

Tokens of the region are told apart by their ids, which are no secret; the rest is compared by its digest, in constant
time. One that was revoked is not in the region any more, so nothing has to be told to anybody.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

from forewarn.core.region import Region
from forewarn.core.tokens.values import AccessToken, Role

_KIND = "fwt"  # what every token of a region begins with, so that scanners of leaked secrets can know one


@dataclass(frozen=True, slots=True)
class Grant:
    """What a caller has shown. Both names are empty for the server's own token."""

    role: Role
    name: str = ""
    token_id: str = ""
    vms: tuple[str, ...] = ()  # of a relay
    host: str = ""  # of a relay


EVERYTHING = Grant(Role.ADMIN)  # where no token is asked for, and for the server's own


class Tokens:
    """The tokens of one server: its own, and those of the published region."""

    def __init__(self, own: str, region: Callable[[], Region]) -> None:
        self.own = own
        self._region = region

    @property
    def wanted(self) -> bool:
        """Whether one has to be shown at all. Without a token of its own a server is a tool on loopback."""
        return bool(self.own)

    def grant(self, shown: str) -> Grant | None:
        """What a token lets its bearer do; None where it is not one of ours, or not any more."""
        presented = shown.encode("utf-8", "replace")
        if self.own and hmac.compare_digest(presented, self.own.encode()):
            return EVERYTHING
        kind, _, rest = shown.partition("-")
        found = self._region().tokens.get(rest.partition("-")[0]) if kind == _KIND else None
        if found is None or not hmac.compare_digest(digest_of(shown), found.digest):
            return None
        return _grant(found)

    def still(self, token_id: str) -> Grant | None:
        """The same for a session that began with this token; an empty id is the server's own."""
        if not token_id:
            return EVERYTHING
        found = self._region().tokens.get(token_id)
        return None if found is None else _grant(found)


def _grant(found: AccessToken) -> Grant:
    return Grant(found.role, found.name, found.id, found.vms, found.host)


def new_token(token_id: str, secret: bytes) -> str:
    """A token as it is told once."""
    return f"{_KIND}-{token_id}-{secret.hex()}"


def digest_of(token: str) -> str:
    """All that is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


NO_TOKENS = Tokens("", Region)

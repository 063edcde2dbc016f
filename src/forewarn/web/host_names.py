"""Under which names a control face answers: a name that was rebound to this machine is not among them."""

from __future__ import annotations

import logging
from collections.abc import Collection
from urllib.parse import urlsplit

ANY_HOST = "*"
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_MOST_LOGGED = 5  # ours: different names; a sender of more is guessing
_LONGEST = 80  # what is shown of a name in a sentence; a DNS name may have 253 characters

_log = logging.getLogger(__name__)


class HostNames:
    """The names of one face. Each of the first few others that are asked for is logged once."""

    def __init__(self, hosts: Collection[str], face: str) -> None:
        self._known = LOOPBACK_HOSTS | {host.lower().strip("[]") for host in hosts}
        self._face = face
        self._logged: set[str] = set()

    def has(self, host: str) -> bool:
        """Whether a Host header, with or without a port, names this face."""
        name = _name(host)
        if name and (ANY_HOST in self._known or name in self._known):
            return True
        self._log(name)
        return False

    def refusal(self) -> str:
        return (
            f"The Host header names none of this server's names ({', '.join(sorted(self._known))}). A server that is "
            "reached under another name, such as a load balancer's, is told so by --hosts (FOREWARN_HOSTS)."
        )

    def _log(self, name: str) -> None:
        shown = "".join(letter if letter.isprintable() else "?" for letter in name[:_LONGEST])
        if shown in self._logged or len(self._logged) >= _MOST_LOGGED:
            return
        self._logged.add(shown)
        _log.warning(
            "The %s refused a request whose Host header names %s, which is none of this server's names. If it is one, "
            "say so with --hosts. This is logged once for a name, for %d names at most.",
            self._face,
            repr(shown) if shown else "nothing that could be read",
            _MOST_LOGGED,
        )


def _name(host: str) -> str:
    """The name without port and brackets. Empty where it cannot be read, or holds more than a name and a port."""
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "") if parts.netloc == host and "@" not in host else ""
    except ValueError:
        return ""

"""Sessions of the portal: a cookie signed with a key derived from the server's token, so that every node accepts it.

It never contains the token: browsers send cookies to every port of a host. Changing the token ends every session.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections import OrderedDict, deque
from dataclasses import replace
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from forewarn.plane.system import ServerSystem
from forewarn.web.access import Grant, Tokens

SESSION_SECONDS = 12 * 3600  # ours: a long working day; OWASP advises 4 to 8 hours where office workers sign in
CODE_SECONDS = 60  # ours: a link is opened at once; OAuth allows its codes ten minutes at most (RFC 6749, 4.1.2)
WRONG_TRIES = 5  # ours: with WRONG_SECONDS at most 7,200 guesses a day from one address
WRONG_SECONDS = 60.0  # ours: short for a person who mistyped
LONGEST_NAME = 40  # of who is signed in, shown in the corner of every page
_MOST_ADDRESSES = 10_000  # ours: bounds memory; the longest silent are forgotten
_MOST_CODES = 10_000  # ours: bounds memory; a code is good for a minute


class TokenSessions:
    """Sessions and codes of one server, or of all nodes that share its token."""

    def __init__(self, tokens: Tokens, system: ServerSystem) -> None:
        self._tokens = tokens
        self._key = hashlib.sha256(b"forewarn portal " + tokens.own.encode()).digest()
        self._system = system
        self._used: OrderedDict[str, None] = OrderedDict()  # codes; each opens once on a node
        self.tries = Tries(system)

    @property
    def wanted(self) -> bool:
        """Whether one has to sign in at all."""
        return self._tokens.wanted

    def granted(self, shown: str, name: str) -> Grant | None:
        """What a token lets in, under the name that was given or that the token has; None where it is none of ours."""
        found = self._tokens.grant(shown)
        return found if found is None or found.name else replace(found, name=clean_name(name))

    def visitor(self, headers: Headers, scheme: str) -> Grant | None:
        """Who has come with a cookie that holds; None without one, and where its token was revoked."""
        cookies = cookie_parser(headers.get("cookie", ""))
        found = self._opened(cookies.get(cookie_name(headers.get("host", ""), scheme), ""), "session")
        return None if found is None else self._bearer_of(found)

    def _bearer_of(self, claims: dict[str, Any]) -> Grant | None:
        granted = self._tokens.still(str(claims.get("token", "")))
        return granted if granted is None or granted.name else replace(granted, name=str(claims.get("name", "")))

    def cookie(self, granted: Grant, host: str, scheme: str) -> str:
        """A new session, as Set-Cookie says it. It carries the token's id, and ends when that is revoked."""
        who = {"name": clean_name(granted.name), "token": granted.token_id}
        value = self._signed({"for": "session", **who, "until": self._until(SESSION_SECONDS)})
        return _set_cookie(cookie_name(host, scheme), value, SESSION_SECONDS, scheme)

    def end(self, host: str, scheme: str) -> str:
        """A Set-Cookie that makes the browser forget its session."""
        return _set_cookie(cookie_name(host, scheme), "", 0, scheme)

    def new_code(self, granted: Grant) -> str:
        """A signed one-time code, good for a minute: `forewarn portal --open` puts it, not the token, into a link."""
        mark = base64.urlsafe_b64encode(self._system.random_bytes(12)).decode()
        who = {"name": clean_name(granted.name), "token": granted.token_id}
        return self._signed({"for": "code", **who, "mark": mark, "until": self._until(CODE_SECONDS)})

    def use_code(self, code: str) -> Grant | None:
        """Who the code was made for; None where it is not ours, expired, or used before on this node."""
        found = self._opened(code, "code")
        if found is None or code in self._used:
            return None
        self._used[code] = None
        while len(self._used) > _MOST_CODES:
            self._used.popitem(last=False)
        return self._bearer_of(found)

    def _until(self, seconds: int) -> int:
        return int(self._system.wall().timestamp()) + seconds

    def _signed(self, claims: dict[str, Any]) -> str:
        body = base64.urlsafe_b64encode(json.dumps(claims, separators=(",", ":")).encode()).decode().rstrip("=")
        return f"{body}.{self._signature(body)}"

    def _signature(self, body: str) -> str:
        return hmac.new(self._key, body.encode(), "sha256").hexdigest()

    def _opened(self, value: str, purpose: str) -> dict[str, Any] | None:
        """The claims of a signed value; None where the signature, the purpose or the expiry is not right.

        The signature is checked before anything is parsed.
        """
        body, _, signature = value.partition(".")
        if not value.isascii() or not hmac.compare_digest(signature, self._signature(body)):
            return None
        claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        is_good = claims["for"] == purpose and claims["until"] > self._system.wall().timestamp()
        return claims if is_good else None


class Tries:
    """Rate limit for wrong tokens by address: after five within a minute the address waits until the first is a minute
    old.
    """

    def __init__(self, system: ServerSystem) -> None:
        self._system = system
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_seconds(self, address: str) -> int:
        """How long the address has to wait; 0 if it may try."""
        wrong = self._wrong.get(address)
        if wrong is None or len(wrong) < WRONG_TRIES:
            return 0
        left = wrong[0] + WRONG_SECONDS - self._system.elapsed()
        return max(0, int(left) + 1) if left > 0 else 0

    def note(self, address: str) -> None:
        """Count a wrong try. Where there are very many addresses, those that have been silent longest are forgotten."""
        wrong = self._wrong.setdefault(address, deque(maxlen=WRONG_TRIES))
        wrong.append(self._system.elapsed())
        self._wrong.move_to_end(address)
        while len(self._wrong) > _MOST_ADDRESSES:
            self._wrong.popitem(last=False)


def cookie_name(host: str, scheme: str) -> str:
    """Names the port: browsers send a host's cookies to all its ports. Over https the ``__Host-`` prefix guards it."""
    if scheme == "https":
        return "__Host-forewarn"
    port = host.rpartition(":")[2] if ":" in host.rpartition("]")[2] else "80"
    return f"forewarn-{port if port.isascii() and port.isdigit() else '80'}"


def clean_name(name: str) -> str:
    """A label, not an account: what prints, and not too much of it."""
    return "".join(letter for letter in name if letter.isprintable()).strip()[:LONGEST_NAME]


def _set_cookie(name: str, value: str, seconds: int, scheme: str) -> str:
    secure = "; Secure" if scheme == "https" else ""
    return f"{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"

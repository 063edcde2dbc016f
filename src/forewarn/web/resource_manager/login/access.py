"""Tokens: who may talk to the Resource Manager.

Without a secret the server is a tool on loopback: any bearer token is accepted, as long as there is one, because
clients insist on sending one. With a secret, tokens are given only to callers that show it, and only tokens of ours are
accepted.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from forewarn.web.access import EVERYTHING, NO_TOKENS, Grant, Tokens

TOKEN_LIFE = timedelta(days=1)
IDENTITY = "00000000-0000-0000-0000-00000000f0e2"  # the client and object id of every caller


@dataclass(frozen=True)
class Access:
    """What the server's secret opens."""

    secret: str = field(default="", repr=False)
    tokens: Tokens = field(default=NO_TOKENS, repr=False)

    def granted(self, shown: str) -> Grant | None:
        """What the secret, or a token of the region, lets in; everything where the server has none."""
        if not self.secret or hmac.compare_digest(shown.encode(), self.secret.encode()):
            return EVERYTHING
        return self.tokens.grant(shown)

    def issue(self, audience: str, issuer: str, tenant: str, now: datetime, token_id: str = "") -> str:
        """A JSON Web Token with the claims that clients decode."""
        began = int(now.timestamp())
        claims = {
            "aud": audience,
            "iss": issuer,
            "iat": began,
            "nbf": began,
            "exp": began + int(TOKEN_LIFE.total_seconds()),
            "appid": IDENTITY,
            "idtyp": "app",
            "oid": IDENTITY,
            "sub": IDENTITY,
            "tid": tenant,
            "ver": "1.0",
        }
        if token_id:
            claims["forewarn_token"] = token_id
        signed = f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part(claims)}"
        return f"{signed}.{_base64(self._signature(signed))}"

    def accepts(self, token: str, now: datetime) -> Grant | None:
        """The rights that a token gives; None where it gives none.

        Without a client secret any token that is not empty will do; with one, a token of ours that has not expired.
        """
        if not self.secret:
            return EVERYTHING if token else None
        signed, _, signature = token.rpartition(".")
        if not hmac.compare_digest(signature.encode(), _base64(self._signature(signed)).encode()):
            return None
        claims = _claims(signed)
        if int(claims.get("exp", 0)) <= now.timestamp():
            return None
        return self.tokens.still(str(claims.get("forewarn_token", "")))

    def _signature(self, signed: str) -> bytes:
        key = hashlib.sha256(f"forewarn access {self.secret}".encode()).digest()
        return hmac.digest(key, signed.encode(), "sha256")


def _claims(signed: str) -> dict[str, Any]:
    """The claims of a token, if the signature is ours; nothing is parsed before that is known."""
    body = signed.partition(".")[2]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return found


def _part(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode())


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

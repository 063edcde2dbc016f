"""What happened to tokens. What ``core.facts`` says of names and fields holds here too."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeAlias

from msgspec import Struct

from forewarn.core.tokens.values import Role


class _Fact(Struct, frozen=True, gc=False, tag_field="fact", tag=True, omit_defaults=True):
    at: datetime


class TokenMade(_Fact, frozen=True):
    token_id: str
    name: str
    role: Role
    digest: str
    vms: tuple[str, ...] = ()  # of a relay
    host: str = ""  # of a relay


class TokenRevoked(_Fact, frozen=True):
    token_id: str
    name: str


TokenFact: TypeAlias = TokenMade | TokenRevoked


def subject(fact: Any) -> str:
    """What a fact about a token is about."""
    return f"token/{fact.name.lower()}"

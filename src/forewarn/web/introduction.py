"""What a client must know before it can use the Resource Manager.

The Resource Manager makes it, the operator face tells it to ``forewarn az-env``. It stands outside both, so that
neither face imports the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

TokenMaker: TypeAlias = Callable[[Mapping[str, str], Mapping[str, str]], tuple[int, Any]]


@dataclass(frozen=True)
class Introduction:
    """Addresses and ids of a Resource Manager, and the two answers that its clients fetch over plain http."""

    url: str
    authority_pem: str  # the certificate to trust, for the url is https
    cloud: str
    subscription: str
    tenant: str
    location: str
    has_secret: bool  # without one every caller gets a token
    token_path: str  # where a managed identity asks for its token
    token: TokenMaker  # header fields and query, both with keys in lower case -> status and JSON body
    endpoints_path: str  # where `az cloud register` asks for all addresses
    endpoints: Callable[[bool], Any]  # whether as a list -> JSON body

"""Which program has the address that a server wants: another forewarn, and which, or something else."""

from __future__ import annotations

import json
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from typing import Any

from forewarn.settings.kinds import Address

_PATIENCE_SECONDS = 2.0  # a server on the same machine answers in milliseconds, or not at all
_HINT = "X-Forewarn-Hint"  # what the metadata face adds to a 404 on loopback
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not listened on


def who_has(address: Address) -> str:
    """The end of a sentence about an address that is taken."""
    answer = _ask(address)
    if answer is None:
        return "another program has it"
    name, data = answer.get("region"), answer.get("data")
    return f"a forewarn has it{region_words(name, data)}" if data else "a forewarn has it"


def region_words(name: str | None, data: str | None) -> str:
    """Which region, for a sentence: as far as it tells."""
    told = [f"region {name!r}"] if name else []
    return "".join(f", {each}" for each in (*told, *([f"data {data}"] if data else [])))


def _ask(address: Address) -> dict[str, Any] | None:
    """What a forewarn there says of itself, which is nothing where it wants a token; None where it is none."""
    connection = HTTPConnection(_WILDCARDS.get(address.host, address.host), address.port, timeout=_PATIENCE_SECONDS)
    with closing(connection), suppress(OSError, HTTPException, ValueError):
        connection.request("GET", "/v1/ping", headers={"Metadata": "true"})
        response = connection.getresponse()
        if response.getheader(_HINT):
            return {}
        found = json.loads(response.read(100_000))
        if isinstance(found, dict) and found.get("name") == "forewarn":
            return found
        if isinstance(found, dict) and {"kind", "request_id"} <= set(found.get("error") or ()):
            return {}
    return None

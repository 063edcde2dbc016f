"""Behind a proxy: whose word counts for the name that a client used."""

from __future__ import annotations

from ipaddress import ip_network

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from forewarn.web.forwarded import Forwarded

pytestmark = pytest.mark.anyio

TRUSTED = (ip_network("10.0.0.0/24"), ip_network("fd00::1"))
SAID = [("X-Forwarded-Host", "rm.example:443"), ("X-Forwarded-Proto", "https")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope)
    await PlainTextResponse(f"{request.url.scheme}://{request.headers['host']}")(scope, receive, send)


async def seen(client: str, headers: list[tuple[str, str]]) -> str:
    transport = httpx.ASGITransport(Forwarded(echo, TRUSTED), client=(client, 4711))
    async with httpx.AsyncClient(transport=transport, base_url="http://node:1") as asking:
        return (await asking.get("/", headers=headers)).text


@pytest.mark.parametrize("client", ["10.0.0.7", "::ffff:10.0.0.7", "fd00::1"])
async def test_a_trusted_proxy_tells_what_the_client_called_us(client: str) -> None:
    assert await seen(client, SAID) == "https://rm.example:443"


@pytest.mark.parametrize("client", ["10.0.1.7", "127.0.0.1", "fd00::2", "nobody"])
async def test_forwarded_fields_from_other_addresses_are_ignored(client: str) -> None:
    assert await seen(client, SAID) == "http://node:1"


async def test_of_several_values_the_nearest_proxys_counts() -> None:
    doubled = [("X-Forwarded-Host", "evil.example, mid.example"), ("X-Forwarded-Host", "mid.example, rm.example")]

    assert await seen("10.0.0.7", doubled) == "http://rm.example"


async def test_what_is_not_a_scheme_is_ignored() -> None:
    assert await seen("10.0.0.7", [("X-Forwarded-Proto", "javascript")]) == "http://node:1"
    assert await seen("10.0.0.7", []) == "http://node:1"


async def caller(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse(scope["client"][0])(scope, receive, send)


@pytest.mark.parametrize(
    ("client", "said", "told"),
    [
        ("10.0.0.7", ["192.0.2.1"], "192.0.2.1"),
        ("10.0.0.7", ["203.0.113.9, 192.0.2.1"], "192.0.2.1"),
        ("10.0.0.7", ["192.0.2.1, 10.0.0.8"], "192.0.2.1"),
        ("10.0.0.7", ["192.0.2.1", "10.0.0.8"], "192.0.2.1"),
        ("10.0.0.7", ["nonsense"], "10.0.0.7"),
        ("10.0.0.7", ["10.0.0.8"], "10.0.0.7"),
        ("10.0.0.7", [], "10.0.0.7"),
        ("198.51.100.1", ["192.0.2.1"], "198.51.100.1"),
    ],
)
async def test_the_caller_is_the_last_address_that_no_trusted_proxy_has(
    client: str, said: list[str], told: str
) -> None:
    """What stands before it, the caller may have written itself; and only a trusted proxy is heard at all."""
    transport = httpx.ASGITransport(Forwarded(caller, TRUSTED), client=(client, 4711))
    async with httpx.AsyncClient(transport=transport, base_url="http://node:1") as asking:
        answer = await asking.get("/", headers=[("X-Forwarded-For", each) for each in said])
    assert answer.text == told

"""The Host header: a name that was rebound, and one that carries more than a name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.security.control_face import ask, control_face
from tests.security.test_control_connections import Patient
from tests.unit.web.operator.conftest import open_bench

BAD = [
    "evil.example",
    "localhost@evil.example",
    "evil.example@localhost",
    "localhost/x",
    "localhost?x=",
    "localhost#x",
    "",
]
BAD += ["localhost:80/?api-version=", "127.0.0.1.evil.example", "localhost\\x", "[::1"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize("host", BAD)
async def test_the_operator_face_answers_to_its_names_and_to_nothing_more(host: str) -> None:
    """Also with a token in hand: what is refused is the way, not the caller."""
    async with open_bench(token="sesame") as bench:
        headers = {"Host": host, "Authorization": "Bearer sesame"}
        answer = await bench.client.get("/v1/vms", headers=headers)
        assert answer.status_code == 400
        assert "Host" in answer.json()["error"]["message"]


@pytest.mark.parametrize("host", BAD)
def test_the_resource_manager_answers_to_its_names_and_to_nothing_more(host: str) -> None:
    """On a real socket, since a framework may make something else of a Host header that is none."""
    with _resource_manager() as port:
        lines = f"GET /subscriptions?api-version=2020-01-01 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer x\r\n"
        answer = ask(port, f"{lines}Connection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 400 ")


def _resource_manager() -> Any:
    from forewarn.web.resource_manager.app import resource_manager_app

    # Refused before a plane is asked
    found: Callable[[Any, Any, Any], Awaitable[None]] = resource_manager_app(None)  # type: ignore[arg-type]
    return control_face(found, Patient)

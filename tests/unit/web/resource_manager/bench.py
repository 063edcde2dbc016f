"""A whole region behind the Resource Manager: the real plane, a journal in memory, a clock that stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx

from forewarn.core.commands import CreateVms, Tick
from forewarn.core.specs import VmSpec
from forewarn.plane.clock import TurnableClock
from forewarn.plane.ports import Origin
from forewarn.server.assembly import Parts, running
from forewarn.stores.memory import MemoryJournal
from forewarn.web.documents.whereabouts import SUBSCRIPTION
from forewarn.web.resource_manager.call import ArmDesk

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
URL = "https://127.0.0.1:16927"
S = f"/subscriptions/{SUBSCRIPTION}"
RG = f"{S}/resourceGroups/rg1"
NETWORK = f"{RG}/providers/Microsoft.Network"
DEPLOYMENTS = f"{RG}/providers/Microsoft.Resources/deployments"
OPERATOR = Origin("operator")


class Bench:
    """What a test holds: the plane behind the face, and a client before it."""

    def __init__(self, desk: ArmDesk, client: httpx.AsyncClient) -> None:
        self.desk = desk
        self.plane = desk.plane
        self.client = client

    async def ask(self, method: str, path: str, body: Any = None, status: int = 200, **more: Any) -> httpx.Response:
        """One request with an api-version; the answer must have this status."""
        if body is not None:
            more["json"] = body
        joint = "&" if "?" in path else "?"
        answer = await self.client.request(method, f"{path}{joint}api-version=2024-11-01", **more)
        assert answer.status_code == status, f"{answer.status_code} {answer.text}"
        return answer

    async def get(self, path: str, status: int = 200) -> Any:
        return (await self.ask("GET", path, status=status)).json()

    async def put(self, path: str, body: Any, status: int = 201) -> Any:
        return (await self.ask("PUT", path, body, status)).json()

    async def group(self, name: str = "rg1") -> None:
        await self.put(f"{S}/resourceGroups/{name}", {"location": "westus"})

    async def refused(self, status: int, method: str, path: str, body: Any = None, **more: Any) -> dict[str, Any]:
        """Ask, be refused in the envelope, see that nothing changed; the error."""
        await self.settled()
        before = self.plane.seq, self.plane.region
        answer = await self.ask(method, path, body, status, **more)
        error: dict[str, Any] = answer.json()["error"]
        assert error["code"]
        assert error["message"].endswith((".", "'", "Fix")), error
        assert before == (self.plane.seq, self.plane.region)
        return error

    async def create_vm(self, name: str, **spec: Any) -> None:
        """By the operator's door."""
        await self.plane.submit(CreateVms((name,), VmSpec(**spec), "SEED"), OPERATOR)

    async def read(self, name: str) -> None:
        """A VM reads its document for the first time, so that its scope is enabled."""
        await self.plane.enable(self.plane.region.vms[name])

    async def settled(self) -> None:
        await self.plane.submit(Tick(), Origin("clock"))


@asynccontextmanager
async def open_bench(
    *,
    journal: MemoryJournal | None = None,
    secret: str = "",
    hosts: tuple[str, ...] = (),
    base_url: str = URL,
    bind_nics: bool = False,
) -> AsyncIterator[Bench]:
    headers = {"Authorization": "Bearer x"}
    parts = Parts(
        journal=journal or MemoryJournal(),
        clock_from=lambda _: TurnableClock(NOON),
        bind_nics=bind_nics,
        token=secret,
    )
    async with running(parts) as server, server.resource_manager(hosts=hosts) as (desk, app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=base_url, headers=headers) as client:
            yield Bench(desk, client)

"""A region behind the compute routes: the real plane, a journal in memory, a clock that stands still, no sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from forewarn.core.commands import Approve, Tick
from forewarn.core.looking.documents import document_for
from forewarn.core.refusal import Refused
from forewarn.core.rules import Rules
from forewarn.plane.clock import TurnableClock
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Origin
from forewarn.server.assembly import Parts, running
from forewarn.stores.memory import MemoryJournal
from forewarn.terms import ScheduledEvent
from forewarn.web.documents.whereabouts import SUBSCRIPTION
from forewarn.web.resource_manager import compute, lro
from forewarn.web.resource_manager.call import ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.errors import ArmError, from_refusal
from forewarn.web.resource_manager.routing import Router

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BASE_URL = "https://localhost:16927"
NEWEST = "2026-04-01"


def path_of(place: str, group: str = "rg1") -> str:
    """``virtualMachines/web`` in a group; what begins with a slash is taken as it is."""
    return place if place.startswith("/") else f"{group_path(group)}/providers/Microsoft.Compute/{place}"


def group_path(group: str) -> str:
    return f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}"


def scale_set_body(capacity: int = 2, **properties: Any) -> dict[str, Any]:
    """Much as ``az vmss create --orchestration-mode Uniform`` writes it; ``properties`` are laid over the model's."""
    profile = {
        "storageProfile": {
            "osDisk": {"createOption": "FromImage", "managedDisk": {"storageAccountType": None}},
            "imageReference": {"publisher": "Canonical", "offer": "jammy", "sku": "22_04-lts", "version": "latest"},
        },
        "osProfile": {"computerNamePrefix": "web1e", "adminUsername": "me", "adminPassword": "not to be kept"},
        "networkProfile": {"networkInterfaceConfigurations": [{"name": "webNic", "properties": {"primary": "true"}}]},
        **properties.pop("profile", {}),
    }
    return {
        "location": "West US",
        "tags": {},
        "sku": {"name": "Standard_D2s_v5", "capacity": capacity},
        "properties": {
            "overprovision": True,
            "upgradePolicy": {"mode": "manual"},
            "singlePlacementGroup": None,
            "orchestrationMode": "Uniform",
            "virtualMachineProfile": profile,
            **properties,
        },
    }


def terminate(timeout: str | None = "PT10M", enable: Any = "true") -> dict[str, Any]:
    """A ``scheduledEventsProfile`` as az writes it, with its boolean as text."""
    said = {"notBeforeTimeout": timeout, "enable": enable}
    return {"terminateNotificationProfile": {name: value for name, value in said.items() if value is not None}}


def events_profile(timeout: str | None = "PT10M", enable: Any = "true") -> dict[str, Any]:
    """A change of nothing but that."""
    return {"properties": {"virtualMachineProfile": {"scheduledEventsProfile": terminate(timeout, enable)}}}


class Bench:
    """What a test holds: the plane behind the routes, and a caller before them."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.desk = ArmDesk(plane)
        self._router = Router()
        compute.add_to(self._router)
        self._router.add("GET", lro.OPERATIONS, lro.look)

    async def ask(
        self,
        method: str,
        place: str,
        body: Any = None,
        *,
        version: str = NEWEST,
        group: str = "rg1",
        headers: Mapping[str, str] | None = None,
        **query: str,
    ) -> ArmReply:
        """A reply, whatever it is: refusals come in the envelope, as the app would send them."""
        asked = {"api-version": version, **{f"${name}": value for name, value in query.items()}}
        origin = Origin("resource-manager", "a test")
        call = Call(method, path_of(place, group), asked, body, BASE_URL, origin, headers or {})
        return await self.answer(call)

    async def answer(self, call: Call) -> ArmReply:
        try:
            return await self._router.answer(self.desk, call)
        except ArmError as no:
            return no.reply()
        except Refused as refused:
            return from_refusal(refused).reply()

    async def ok(self, method: str, place: str, body: Any = None, status: int = 200, **more: Any) -> Any:
        """The body of an answer with the expected status. An answer to be followed says how often."""
        reply = await self.ask(method, place, body, **more)
        assert reply.status == status, reply.body
        if "Azure-AsyncOperation" in reply.headers:
            assert reply.headers["Retry-After"] == "1"
        return reply.body

    async def get(self, place: str, **more: Any) -> Any:
        return await self.ok("GET", place, **more)

    async def put(self, place: str, body: Any, status: int = 200, **more: Any) -> Any:
        return await self.ok("PUT", place, body, status, **more)

    async def refused(self, status: int, method: str, place: str, body: Any = None, **more: Any) -> dict[str, Any]:
        """Ask, be refused in the envelope, see that nothing changed; what stands in the envelope."""
        await self.settled()
        before = self.plane.seq, self.plane.region
        reply = await self.ask(method, place, body, **more)
        assert reply.status == status, reply.body
        assert before == (self.plane.seq, self.plane.region)
        assert list(reply.body) == ["error"]
        error: dict[str, Any] = reply.body["error"]
        assert error["code"]
        assert error["message"]
        return error

    async def begin(self, method: str, place: str, body: Any = None, status: int = 202, **more: Any) -> Operation:
        """Start something that takes its time."""
        reply = await self.ask(method, place, body, **more)
        assert reply.status == status, reply.body
        return Operation(self, reply)

    async def settled(self) -> None:
        """Engines have taken in hand what has started."""
        await self.plane.submit(Tick(), Origin("clock"))

    async def read(self, *names: str) -> None:
        """VMs read their documents, so that their scopes are enabled."""
        for name in names:
            await self.plane.enable(self.plane.region.vms[name])

    def events(self, vm: str) -> tuple[ScheduledEvent, ...]:
        """What a VM sees."""
        region = self.plane.region
        return document_for(region, region.scope_of(region.vms[vm])).events

    async def approve(self, vm: str, *event_ids: str) -> None:
        """As the VM does it from inside."""
        scope = self.plane.region.vms[vm].scope
        await self.plane.submit(Approve(event_ids, vm, scope), Origin("vm", vm))
        await self.settled()

    async def advance(self, **duration: float) -> None:
        await self.plane.advance(self.plane.now() + timedelta(**duration))


class Operation:
    """Something under way, followed as the clients follow it."""

    def __init__(self, bench: Bench, reply: ArmReply) -> None:
        self._bench = bench
        self.reply = reply
        self.status_url = reply.headers["Azure-AsyncOperation"]
        self.result_url = reply.headers.get("Location")
        assert (self.result_url is None) is (reply.status != 202), "only what has no resource has a result elsewhere"

    async def status(self) -> str:
        reply = await self._follow(self.status_url)
        assert reply.status == 200
        running = reply.body["status"] == "InProgress"
        assert reply.headers.get("Retry-After") == ("1" if running else None)
        if self.result_url is not None:
            result = await self._follow(self.result_url)
            assert result.status == (202 if running else 200)
            assert result.body is None
        return str(reply.body["status"])

    async def _follow(self, url: str) -> ArmReply:
        parts = urlsplit(url)
        assert f"{parts.scheme}://{parts.netloc}" == BASE_URL
        return await self._bench.answer(
            Call("GET", parts.path, dict(parse_qsl(parts.query)), None, BASE_URL, Origin("resource-manager"))
        )


@asynccontextmanager
async def open_bench(journal: MemoryJournal | None = None, rules: Rules | None = None) -> AsyncIterator[Bench]:
    parts = Parts(journal=journal or MemoryJournal(), clock_from=lambda _: TurnableClock(NOON), rules=rules or Rules())
    async with running(parts) as server:
        yield Bench(server.plane)

"""A whole region behind the portal: the real plane, a journal in memory, a clock that stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, TypeAlias

import httpx
import pytest
from fastapi import FastAPI

from forewarn.core.rules import Rules
from forewarn.plane.clock import Clock, TurnableClock
from forewarn.plane.hands.settings import NO_MACHINES, Machines
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Journal
from forewarn.server.assembly import Parts, running
from forewarn.stores.memory import MemoryJournal
from forewarn.web.operator.schema.answers import SettingView
from tests.unit.web.apps import reused
from tests.unit.web.portal.visitor import Element, read

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOME = "http://127.0.0.1:16926"
SETTINGS = (SettingView("vms_per_host", "4", "file", "VMs that fit on one host"),)


def filled_by(form: Element) -> dict[str, str | list[str]]:
    """What a browser sends of a form that nobody has touched."""
    fields: dict[str, list[str]] = {}
    for each in (each for each in form.walk() if each.tag in ("input", "select", "textarea")):
        told = each.attributes
        if each.tag == "select":
            chosen = [option for option in each.all("option") if "selected" in option.attributes] or each.all("option")
            value = chosen[0].attributes.get("value", chosen[0].text)
        else:
            value = "".join(each.texts).removeprefix("\n") if each.tag == "textarea" else told.get("value", "")
        if told.get("type") not in ("radio", "checkbox") or "checked" in told:
            fields.setdefault(told["name"], []).append(value)
    return dict(fields)


class Browser:
    """What a test holds: the plane behind the pages, and somebody who looks at them."""

    def __init__(self, plane: Plane, app: FastAPI, client: httpx.AsyncClient) -> None:
        self.plane = plane
        self.app = app
        self.client = client
        self.home = str(client.base_url).rstrip("/")

    async def page(self, path: str, status: int = 200, **headers: str) -> Element:
        answer = await self.client.get(path, headers=headers)
        assert answer.status_code == status, answer.text
        return read(answer.text)

    async def send(self, path: str, form: Mapping[str, str | list[str]], **headers: str) -> httpx.Response:
        """A form sent by a page of ours, as a browser does it."""
        return await self.client.post(path, data=dict(form), headers={"Origin": self.home, **headers})

    async def confirm(self, path: str, **typed: str) -> httpx.Response:
        """Look at what a deed would do, and confirm it."""
        (form,) = (each for each in (await self.page(path)).all("form") if "/do/" in each.attributes["action"])
        return await self.send(form.attributes["action"], {**filled_by(form), **typed})

    async def api(self, path: str, status: int = 200, **query: Any) -> Any:
        answer = await self.client.get(path, params=query)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def ask(self, path: str, body: Any, status: int = 202) -> Any:
        """A write through the operator API, to make the region what a test needs."""
        answer = await self.client.post(path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()


OpenPortal: TypeAlias = Callable[..., AbstractAsyncContextManager[Browser]]


@asynccontextmanager
async def open_portal(
    *,
    journal: Journal | None = None,
    clock: Clock | None = None,
    token: str = "",
    portal: bool = True,
    base_url: str = HOME,
    hosts: tuple[str, ...] = (),
    machines: Machines = NO_MACHINES,
    alone: bool = False,  # an app that no other test has asked before: it remembers wrong tokens
) -> AsyncIterator[Browser]:
    chosen = clock or TurnableClock(NOON)
    parts = Parts(
        journal=journal or MemoryJournal(),
        clock_from=lambda _: chosen,
        rules=Rules(vms_per_host=4),
        token=token,
        shown=SETTINGS,
        portal=portal,
        machines=machines,
    )
    async with running(parts) as server:
        fresh = server.operator_app(metadata_url="http://127.0.0.1:16925", hosts=hosts)
        app = fresh if alone else reused(fresh, "portal", hosts, token, portal)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base_url) as client:
            yield Browser(server.plane, app, client)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(name="open_portal")
def open_portal_fixture() -> OpenPortal:
    return open_portal

"""A server that wants a token, with VMs whose tags, sizes and owners try to be markup; and somebody who signs in."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page, expect

from tests.e2e.program import ServerProgram, ask
from tests.portal.browser import Visitor
from tests.unit.web.portal.regions import HOSTILE

TOKEN = "open-sesame-please"
BEARER = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}


def make_hostile(server: ServerProgram) -> None:
    """By the doors that take text."""
    tags = {text[:60]: text for text in HOSTILE}
    for number, text in enumerate(HOSTILE):
        _tell(server, "/v1/vms", {"name": f"odd-{number}", "size": text, "tags": tags, "read": True})
    _tell(server, "/v1/vms/restart", {"names": ["odd-0"]})
    _tell(server, "/v1/scale-sets", {"name": "pool", "capacity": 1})
    _tell(server, "/v1/campaigns", {"kind": "freeze", "hosts": ["host-0"]})


def _tell(server: ServerProgram, path: str, body: Any) -> None:
    who = {"X-Forewarn-Client": HOSTILE[0]}
    answer = ask(server.control, path, {**BEARER, **who}, "POST", json.dumps(body).encode())
    assert answer.status in (200, 201, 202), answer.body


def everything(server: ServerProgram) -> list[Any]:
    """What somebody who changed something would have changed."""
    paths = ("/v1/activity", "/v1/vms", "/v1/events", "/v1/faults", "/v1/campaigns", "/v1/scale-sets", "/v1/clock")
    return [json.loads(ask(server.control, path, BEARER).body) for path in paths]


def sign_in(somebody: Visitor) -> Page:
    page = somebody.open("/portal/sign-in?back=/portal/vms")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#vm-odd-0")).to_be_visible()
    return page

"""The portal of nodes behind HAProxy, as docs/nodes.md sets it up: any node serves it, one sign-in is enough."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from urllib.parse import urlencode

from tests.e2e.nodes import NAMES, TOKEN, Balancer, balancer, nodes, open_connection
from tests.e2e.program import Answer
from tests.postgres import Server

_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Visitor:
    """A browser at the balancer: it holds its cookie, and sends what browsers send."""

    def __init__(self, front: Balancer) -> None:
        self._front = front
        self.cookie = ""

    def get(self, path: str, accept: str = "text/html") -> Answer:
        return self._send("GET", path, None, {"Accept": accept})

    def post(self, path: str, **form: str) -> Answer:
        origin = f"https://{self._front.named(self._front.control)['Host']}"
        return self._send("POST", path, urlencode(form).encode(), {**_FORM, "Origin": origin})

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        given = {**self._front.named(self._front.control), **headers, "Cookie": self.cookie}
        with open_connection(self._front.control, self._front.trust) as connection:
            connection.request(method, path, body, given)
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, fields, response.read())


def test_any_node_serves_the_portal_after_one_sign_in(postgres: Server, tmp_path: Path) -> None:
    with nodes(postgres.region(), tmp_path) as region, balancer(region) as front:
        region["alpha"].forewarn("vm", "create", "web", "--read")
        visitor = Visitor(front)
        closed = Counter(visitor.get("/portal/vms").status for _ in NAMES)
        signed = visitor.post("/portal/sign-in", token=TOKEN, name="anna", back="/portal/vms")
        visitor.cookie = signed.headers["set-cookie"].partition(";")[0]
        pages = [visitor.get("/portal/vms") for _ in range(9)]
        asked = Counter(_this(visitor.get("/v1/nodes", "application/json")) for _ in range(9))
        done = _restart(visitor, "web")
        told = [visitor.get(done.headers["location"]) for _ in NAMES]
        listed = json.loads(visitor.get("/v1/activity", "application/json").body)

    assert closed == {303: 3}
    assert (signed.status, signed.headers["location"]) == (303, "/portal/vms")
    assert signed.headers["set-cookie"].startswith("__Host-forewarn=")
    assert "; Secure" in signed.headers["set-cookie"]
    assert {page.status for page in pages} == {200}
    assert all(b"web" in page.body and b"anna" in page.body for page in pages)
    assert set(asked) == set(NAMES)
    assert done.status == 303
    assert all(page.status == 200 and b"1 Reboot event" in page.body for page in told)
    assert [each["who"] for each in listed["activity"] if each["door"] == "portal"] == ["anna"]


def _this(answer: Answer) -> str:
    (name,) = (node["name"] for node in json.loads(answer.body)["nodes"] if node["this"])
    return str(name)


def _restart(visitor: Visitor, vm: str) -> Answer:
    """Look at what it would do, at one node, and confirm it, at another."""
    page = visitor.get(f"/portal/do/restart?vm={vm}&back=/portal/vms/{vm}").body.decode()
    form = next(each for each in re.findall(r"<form.*?</form>", page, re.DOTALL) if 'action="/portal/do/' in each)
    fields = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', form))
    return visitor.post("/portal/do/restart", **fields)

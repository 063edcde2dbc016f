"""``kill -9`` at any instant loses nothing that was answered, and doubles nothing."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.program import EVENTS, ServerProgram

ROUNDS = 5
CLIENTS = 4
MOST_REQUESTS = 400  # of one round, should its kill never come
_JSON = {"Content-Type": "application/json"}
_METADATA = {"Metadata": "true"}


@dataclass
class Heard:
    """All that clients were told with success."""

    vms: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    approvals: list[str] = field(default_factory=list)


class Cut(Exception):  # noqa: N818 - it reads as the end it is
    """The server is gone."""


class Load:
    """Clients that work on a server until it is killed: by whichever of them sends, or hears, the fatal number."""

    def __init__(self, server: ServerProgram, number: int, chance: random.Random, heard: Heard) -> None:
        self._server = server
        self._number = number
        self._fatal = chance.randrange(2, 200)
        self._on_answer = chance.random() < 0.5
        self._heard = heard
        self._lock = threading.Lock()
        self._sent = self._answered = 0

    def run(self) -> None:
        clients = [threading.Thread(target=self._work, args=(client,)) for client in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self._server.kill()

    def _work(self, client: int) -> None:
        control, metadata = _connect(self._server.control), _connect(self._server.metadata)
        try:
            for turn in range(MOST_REQUESTS):
                self._one_vm(control, metadata, f"vm-{self._number}-{client}-{turn}")
        except Cut:
            return
        finally:
            control.close()
            metadata.close()

    def _one_vm(self, control: HTTPConnection, metadata: HTTPConnection, name: str) -> None:
        """Create, read, restart, approve: each told, each remembered, half of the events left waiting."""
        created = self._ask(control, "POST", "/v1/vms", {"name": name})
        self._heard.vms += created["created"]
        self._ask(metadata, "GET", f"/vm/{name}{EVENTS}")
        outcome = self._ask(control, "POST", "/v1/vms/restart", {"names": [name]})
        (event,) = outcome["events"]
        self._heard.events.append(event["id"])
        if event["id"] < "8":
            body = {"StartRequests": [{"EventId": event["id"]}]}
            self._ask(metadata, "POST", f"/vm/{name}{EVENTS}", body)
            self._heard.approvals.append(event["id"])

    def _ask(self, connection: HTTPConnection, verb: str, target: str, body: object = None) -> Any:
        try:
            connection.request(verb, target, None if body is None else json.dumps(body), _METADATA | _JSON)
            self._count(answered=False)
            response = connection.getresponse()
            content = response.read()
        except (OSError, HTTPException):
            raise Cut from None
        assert response.status < 300, f"{verb} {target}: {response.status} {content!r}"
        self._count(answered=True)
        return json.loads(content) if content else None

    def _count(self, *, answered: bool) -> None:
        with self._lock:
            self._sent += not answered
            self._answered += answered
            if (self._answered if self._on_answer else self._sent) == self._fatal:
                self._server.process.kill()


def _connect(url: str) -> HTTPConnection:
    parts = urlsplit(url)
    return HTTPConnection(parts.hostname or "", parts.port, timeout=30)


def _facts(server: ServerProgram) -> Iterator[dict[str, Any]]:
    return map(json.loads, server.forewarn("journal", "export").splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_server_comes_back_with_all_that_it_answered_and_with_nothing_twice(seed: int, tmp_path: Path) -> None:
    chance, heard = random.Random(seed), Heard()
    options = ("--clock", "virtual", "--user-operation-limit", "0", "--log-level", "warning")
    for number in range(ROUNDS):
        with ServerProgram.start(tmp_path / "data", *options) as server:
            Load(server, number, chance, heard).run()
        with ServerProgram.start(tmp_path / "data", *options) as server:
            _check(server, heard)
            assert server.stop() == 0
    assert len(heard.vms) >= ROUNDS, "the load did no work"
    assert heard.approvals, "the load approved nothing"


def _check(server: ServerProgram, heard: Heard) -> None:
    facts = list(_facts(server))
    created = Counter(fact["body"]["name"] for fact in facts if fact["fact"] == "VmCreated")
    scheduled = Counter(fact["body"]["event"]["id"] for fact in facts if fact["fact"] == "EventScheduled")
    approved = Counter(fact["subject"] for fact in facts if fact["fact"] == "EventApproved")
    for happened, told in ((created, heard.vms), (scheduled, heard.events), (approved, heard.approvals)):
        assert set(told) <= happened.keys(), "something that was answered is lost"
        assert set(happened.values()) <= {1}, "something happened twice"
    assert sorted(vm["name"] for vm in server.json("vm", "list")) == sorted(created)
    phases = {event["id"]: event["phase"] for event in server.json("event", "list")}
    assert phases == {event_id: "started" if event_id in approved else "scheduled" for event_id in scheduled}
    assert server.forewarn("journal", "verify") == f"{len(facts)} records read, nothing wrong.\n"

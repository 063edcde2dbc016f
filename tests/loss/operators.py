"""Operators: they make, restart, redeploy, evict and delete VMs, run campaigns and look, through whichever node."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.loss.history import Look, Notebook, Outcome, Write
from tests.loss.line import Lines, Reply
from tests.loss.machines import Node
from tests.loss.roster import FLEET, INSTANCES, QUIET, Roster

_TIMEOUT_SECONDS = 3.0  # shorter than some faults, so that some outcomes stay unknown
_DEAD_SECONDS = 0.2  # before the next request, where a node is not even there
_MOST_VMS = 30
_MOST_CAMPAIGNS = 1  # of one operator: each takes as long as its waves
_MAINTENANCE = ("freeze", "live-migration", "network", "reboot", "redeploy")


class Operator:
    """One thread, one request at a time, each under a name of its own."""

    def __init__(
        self, number: int, nodes: Sequence[Node], roster: Roster, chance: random.Random, directory: Path
    ) -> None:
        self._name = f"operator-{number}"
        self._nodes = nodes
        self._roster = roster
        self._chance = chance
        self._book = Notebook(directory / f"{self._name}.notes")
        self._lines = Lines(_TIMEOUT_SECONDS)
        self._asked = 0
        self._campaigns = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=self._name)

    def start(self) -> None:
        self._thread.start()

    def leave(self) -> None:
        """Finish the request that is under way, and no more."""
        self._stopped.set()

    def join(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def stop(self) -> None:
        self.join()
        self._lines.close()
        self._book.close()

    def prepare(self) -> None:
        """The fleet that a round begins with. Everything here must succeed."""
        for kind, body in (*FLEET, ("quiet", QUIET)):
            assert self._create(kind, body) is Outcome.OK, "the fleet cannot be made"
        made = self._write("scale-set", (), "/v1/scale-sets", {"name": "herd", "capacity": 3})
        assert made.outcome is Outcome.OK, f"the scale set cannot be made: {made.status} {made.body!r}"
        self._roster.add("instance", *INSTANCES)

    def _run(self) -> None:
        deeds: tuple[tuple[Callable[[], object], int], ...] = (
            (self._restart, 6),
            (self._redeploy, 3),
            (self._evict, 2),
            (self._delete, 2),
            (self._make, 4),
            (self._look, 6),
            (self._approve, 3),
            (self._cancel, 1),
            (self._campaign, 1),
            (self._maintain, 1),
            (self._scale, 2),
            (self._start_vms, 2),
        )
        choices, weights = zip(*deeds, strict=True)
        while not self._stopped.wait(self._chance.uniform(0.01, 0.08)):
            self._chance.choices(choices, weights)[0]()

    def works_through(self, node: Node) -> bool:
        """Whether a node takes a write. For when the thread has ended."""
        name = f"probe-{node.name}-{self._asked}"
        return self._write("create", (name,), "/v1/vms", {"name": name}, node).outcome is Outcome.OK

    def close_events(self) -> None:
        """Let everything start that still waits. For when the thread has ended."""
        for node in self._nodes[:1]:
            found = self._lines.ask(node.control_port, "GET", "/v1/events", {}).json
            pending = [event["id"] for event in found.get("events", ()) if event["phase"] == "scheduled"]
            self._name_events("approve", pending)

    # What operators do

    def _restart(self) -> None:
        self._act("restart", self._roster.some(self._chance, 2))

    def _redeploy(self) -> None:
        self._act("redeploy", self._roster.some(self._chance, 2))

    def _evict(self) -> None:
        self._act("evict", self._roster.some(self._chance, 1, "spot"))

    def _start_vms(self) -> None:
        self._act("start", self._roster.some(self._chance, 2, "spot"))

    def _delete(self) -> None:
        self._act("delete", self._roster.some(self._chance, 1, "lone", "spot", "member"))

    def _make(self) -> None:
        if self._roster.size < _MOST_VMS:
            kind, body = self._chance.choice(FLEET)
            name = f"{kind}-{self._name[9:]}x{self._asked}"
            self._create(kind, {**body, "name": name, "count": self._chance.randint(1, 3)})

    def _create(self, kind: str, body: dict[str, Any]) -> Outcome:
        names = tuple(f"{body['name']}-{number}" for number in range(body["count"]))
        reply = self._write("create", names, "/v1/vms", {**body, "numbered": True})
        if reply.outcome is not Outcome.REFUSED:
            self._roster.add(kind, *names)
        return reply.outcome

    def _approve(self) -> None:
        self._name_events("approve", self._roster.events(self._chance, 2))

    def _cancel(self) -> None:
        self._name_events("cancel", self._roster.events(self._chance, 1))

    def _campaign(self) -> None:
        if self._campaigns < _MOST_CAMPAIGNS:
            self._campaigns += 1
            kind = self._chance.choice(_MAINTENANCE[:4])
            self._write(
                "campaign", (), "/v1/campaigns", {"kind": kind, "hosts_at_once": self._chance.choice((2, None))}
            )

    def _maintain(self) -> None:
        hosts = [f"host-{self._chance.randrange(4)}"]
        self._write("maintain", (), "/v1/hosts/maintain", {"hosts": hosts, "kind": self._chance.choice(_MAINTENANCE)})

    def _scale(self) -> None:
        self._write("scale", (), "/v1/scale-sets/herd/scale", {"capacity": self._chance.randint(1, 4)})

    def _look(self) -> None:
        for vm in self._roster.some(self._chance, 1):
            node = self._chance.choice(self._nodes)
            reply = self._lines.ask(node.control_port, "GET", f"/v1/vms/{vm}", {})
            if reply.status in (200, 404):
                self._book.add(Look(vm, node.name, reply.asked, reply.answered, reply.status == 200))

    # How they ask

    def _act(self, deed: str, names: list[str]) -> Outcome:
        if not names:
            return Outcome.REFUSED
        return self._write(deed, tuple(names), f"/v1/vms/{deed}", {"names": names}).outcome

    def _name_events(self, deed: str, event_ids: list[str]) -> None:
        if event_ids:
            self._write(deed, tuple(event_ids), f"/v1/events/{deed}", {"ids": event_ids})

    def _write(
        self, deed: str, names: tuple[str, ...], target: str, body: object, through: Node | None = None
    ) -> Reply:
        self._asked += 1
        key = f"{self._name}.{self._asked}"
        node = through or self._chance.choice(self._nodes)
        headers = {"X-Forewarn-Client": key, "Content-Type": "application/json"}
        reply = self._lines.ask(node.control_port, "POST", target, headers, body)
        if not reply.sent:
            self._stopped.wait(_DEAD_SECONDS)
        ok = reply.outcome is Outcome.OK
        self._book.add(
            Write(
                key,
                node.name,
                deed,
                names,
                reply.asked,
                reply.answered,
                reply.outcome,
                reply.status,
                reply.headers.get("x-request-id", ""),
                _told(deed, reply.json) if ok else (),
                "" if ok else reply.body.decode(errors="replace")[:500],
            )
        )
        return reply


def _told(deed: str, answer: dict[str, Any]) -> tuple[str, ...]:
    """What the answer says was made."""
    if deed == "create":
        return tuple(answer["created"])
    if deed == "campaign":
        return (answer["id"],)
    if deed in ("approve", "start"):
        return ()
    return tuple(event["id"] for event in answer.get("events", ()))

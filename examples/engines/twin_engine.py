"""The reference engine: pretended machines in memory, behind the open protocol. Needs forewarn itself (its twin).

    python examples/engines/twin_engine.py --machine alpha/web-0 --machine alpha/web-1 --unix /tmp/engine.sock
    forewarn engine check unix:///tmp/engine.sock --machine alpha/web-0

``ServedEngine`` serves any engine that is written in Python against forewarn's own port, not only this one.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from engine_server import Answer, Change, Platform, Refused, Seen, Unsure, Waiting, answer_of, main

from forewarn.core.machines.values import Errand, ErrandKind, Sighting
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinHosts
from forewarn.plane.hands.engine import Done, Engine, EngineFault, Failed, NotYet, Unknown, Way


class OneChange:
    """Leave for one change at most, and the memory that more was asked for."""

    def __init__(self, allowed: bool, again: bool, left: float) -> None:
        self.again, self._allowed, self._left, self.asked = again, allowed, left, False

    def may(self) -> bool:
        allowed, self._allowed = self._allowed, False
        self.asked = self.asked or not allowed
        return allowed

    def left(self) -> float:
        return self._left


class ServedEngine(Platform):
    """An engine of forewarn's own port. What it would do next it does not say in words, so leave is for what was seen:
    as soon as anything has changed at the errand's hosts, an old leave fits no more."""

    offers = ("wait", "owner", "findings")

    def __init__(self, engine: Engine, hosts: tuple[str, ...]) -> None:
        super().__init__()
        self.name, self.hosts, self._engine = engine.name, hosts, engine
        self.kinds = tuple(sorted(engine.kinds))

    def put(self, errand: str, wanted: dict[str, Any]) -> Answer:
        with self._lock:
            self._errands[errand] = (wanted, time.monotonic())
            return self._go_on(errand, wanted, wanted.get("leave", ""))

    def state(self, errand: str, wait: float) -> Answer:
        if errand not in self._errands:
            return 404, {"why": "This errand is not known here."}
        wanted, since = self._errands[errand]
        left = wanted.get("left", 0.0) - (time.monotonic() - since)
        with self._lock:
            return self._go_on(errand, {**wanted, "left": left, "again": True}, "")

    def _go_on(self, errand: str, wanted: dict[str, Any], leave: str) -> Answer:
        words = self._words(wanted)
        permit = OneChange(leave == words, bool(wanted.get("again")), float(wanted.get("left", 0.0)))
        result = self._engine.carry_out(errand_of(errand, self.name, wanted), permit)
        match result:
            case Done(sighting):
                return answer_of(Seen(shown(sighting)))
            case NotYet(why, again_after):
                return answer_of(Change(self._words(wanted), str) if permit.asked else Waiting(why, again_after))
            case Failed(why, lasting):
                raise Refused(why, lasting=lasting)
            case Unknown(why):
                raise Unsure(why)

    def _words(self, wanted: dict[str, Any]) -> str:
        seen = []
        for host in sorted({wanted.get("host", ""), wanted.get("to", "")} & set(self.hosts)):
            try:
                machines = self._engine.listing(host).machines
            except EngineFault:
                seen.append(f"{host}?")
                continue
            ref = wanted.get("ref") or wanted.get("vm_id")
            seen += [f"{host} {each.power} {each.boot_mark} {each.errand}" for each in machines if each.ref == ref]
        return f"{wanted['kind']} {wanted.get('ref', '')} ({'; '.join(seen)})"

    def give_up(self, errand: str, wanted: dict[str, Any]) -> None:
        self._engine.abandon(errand_of(errand, self.name, wanted))

    def listing(self, host: str) -> Answer:
        try:
            found = self._engine.listing(host)
        except EngineFault as fault:
            raise Unsure(str(fault)) from None
        machines = [shown(each) for each in found.machines]
        return 200, {"host": host, "complete": found.complete, "machines": machines, "cursor": found.cursor}

    def changes(self, host: str, after: str, wait: float) -> Answer:
        hint = self._next_hint(self._engine.changes(host, after), wait)
        return (200, {"cursor": hint}) if hint else (204, None)

    @staticmethod
    def _next_hint(hints: Iterator[str], wait: float) -> str:
        found: list[str] = []
        thread = threading.Thread(target=lambda: found.append(next(hints, "")), daemon=True)
        thread.start()
        thread.join(max(min(wait, 60.0), 0.05))
        return found[0] if found else ""

    def other(self, method: str, parts: list[str], body: dict[str, Any]) -> Answer:
        match [method, *parts]:
            case ["PUT", "v1", "hosts", host, "machines", ref, "owner"]:
                self._engine.adopt(host, ref, body["vm"], body["vm_id"])
                return 204, None
            case ["DELETE", "v1", "hosts", host, "machines", ref, "owner"]:
                self._engine.release(host, ref)
                return 204, None
            case ["GET", "v1", "hosts", host, "machines", ref, "findings"]:
                return 200, {"findings": msgspec.to_builtins(self._engine.examine(host, ref, Way(body["way"])))}
        return super().other(method, parts, body)


def errand_of(errand: str, engine: str, wanted: dict[str, Any]) -> Errand:
    texts = {name: wanted.get(name, "") for name in ("host", "ref", "to", "vm", "vm_id", "boot_mark", "blueprint")}
    return Errand(
        id=errand,
        kind=ErrandKind(wanted["kind"]),
        engine=engine,
        made_at=datetime(2026, 1, 1, tzinfo=UTC),
        grace=timedelta(seconds=wanted.get("grace", 0.0)),
        source_off=bool(wanted.get("source_off")),
        **texts,
    )


def shown(sighting: Sighting) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(sighting)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A reference engine with pretended machines.")
    parser.add_argument("--host", action="append", default=[], metavar="NAME", help="a host (default: alpha, beta)")
    parser.add_argument("--machine", action="append", default=[], metavar="HOST/REF", help="a machine that runs there")
    words, _ = parser.parse_known_args()
    names = tuple(words.host or ("alpha", "beta"))
    pretended = TwinHosts(names, elapsed=time.monotonic)
    for machine in words.machine:
        at, _, ref = machine.partition("/")
        pretended.put(ref, at, vm=ref)
    main(ServedEngine(TwinEngine(pretended), names), parser)

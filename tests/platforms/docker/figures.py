"""How long engines take, for docs/performance.md: ``python -m tests.platforms.docker.figures``. Needs root."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from forewarn.core.machines.values import ErrandKind
from tests.contract.engines.bench import EngineBench, Permit, carry_through, errand_for
from tests.platforms.docker.agents import Contained, ContainerRegion, container_region
from tests.platforms.docker.bench import ContainerBench
from tests.platforms.docker.daemons import Daemon, daemon
from tests.platforms.measuring import between, idle_cost, longest_gap
from tests.waiting import until

_ROUNDS, _MANY, _LISTED = 9, 100, 1000
_AGENT_ROUNDS = 3  # each takes some twenty seconds


def _seconds(what: Callable[..., object], *arguments: object) -> float:
    begun = time.monotonic()
    what(*arguments)
    return time.monotonic() - begun


def one_life(bench: EngineBench) -> dict[str, float]:
    """A machine from its making to its end, by the engine's own calls."""
    found = {"create, until it runs": _seconds(carry_through, bench, errand_for(bench, ErrandKind.CREATE, None))}
    (copy,) = bench.truth("web-1")
    pause = errand_for(bench, ErrandKind.PAUSE, copy)
    found["freeze, until it stands"] = _seconds(bench.engine.carry_out, pause, Permit(seconds_left=60.0))
    found["freeze, its end"] = _seconds(bench.engine.carry_out, pause, Permit(True))
    for kind in (ErrandKind.RESTART, ErrandKind.REDEPLOY, ErrandKind.DELETE):
        (copy,) = bench.truth("web-1")
        found[kind.value] = _seconds(carry_through, bench, errand_for(bench, kind, copy, 2, to=bench.hosts[0]))
    return found


def _many(bench: ContainerBench, engine: Daemon) -> dict[str, float]:
    """A hundred, one after another; then so many more that are only there."""
    found = {"100 containers: create": _seconds(_make_many, bench)}
    copies = [bench.truth(f"many-{number}")[0] for number in range(_MANY)]
    found["listing of 100"] = statistics.median(_seconds(bench.engine.listing, bench.hosts[0]) for _ in range(5))
    pauses = [errand_for(bench, ErrandKind.PAUSE, copy) for copy in copies]
    for name, permit in (("pause", Permit(seconds_left=60.0)), ("resume", Permit(True))):
        found[f"100 containers: {name}"] = sum(_seconds(bench.engine.carry_out, each, permit) for each in pauses)
    for number in range(_MANY, _LISTED):
        body = {"Image": "forewarn-tests", "Cmd": ["/bin/sh"], "HostConfig": {"NetworkMode": "none"}}
        engine.do("POST", "/containers/create", {"name": f"off-{number}"}, body)
    found["listing of 1000, 900 of them off"] = statistics.median(
        _seconds(bench.engine.listing, bench.hosts[0]) for _ in range(3)
    )
    return found


def _make_many(bench: ContainerBench) -> None:
    for number in range(_MANY):
        bench.make(f"many-{number}", bench.hosts[0])


def _with_agent(region: ContainerRegion, web: Contained, boots: int) -> dict[str, float]:
    """One Reboot and one Freeze, approved from inside; ``boots``: how often it has booted so far."""
    found, at = {}, len(region.facts())
    region.forewarn("vm", "restart", "web-0")
    web.until("prepared Reboot", boots)
    approved = time.monotonic()
    until(lambda: web.text().count("this VM is web-0") > boots, "its agent is back", web.text)
    found["approved, until the agent has read again"] = time.monotonic() - approved
    region.until_ended("restart", boots)
    web.until("restored Reboot", boots)
    facts = region.facts()[at:]
    found["announced, until approved inside"] = between(facts, "EventScheduled", "EventApproved")
    found["approved, until it was seen to run anew"] = between(facts, "EventApproved", "ErrandEnded")
    approved_at = next(each["at"] for each in facts if each["fact"] == "EventApproved")
    found["approved, until it was off"] = (_off_at(region.daemon) - datetime.fromisoformat(approved_at)).total_seconds()

    at = len(region.facts())
    with longest_gap(region.daemon.inside, "169.254.169.10") as peer:
        region.forewarn("host", "maintain", "rack-1", "--kind", "freeze")
        region.until_ended("pause", boots)
        web.until("restored Freeze", boots)
    found["freeze of 9 s, until it was seen to run"] = between(region.facts()[at:], "ErrandMade", "ErrandEnded")
    found["… as a peer that pings it sees it"] = peer.seconds
    web.until("stood still", boots)
    stood = [int(line.split()[3]) for line in web.told() if line.startswith("stood still")]
    found["… by its own clock, in whole seconds"] = float(stood[-1])
    return found


def _off_at(engine: Daemon) -> datetime:
    """When its program ended for the last time, as the engine says."""
    told = engine.inspect("web-0")
    assert told is not None
    return datetime.fromisoformat(told["State"]["FinishedAt"])


def _agents(engine: Daemon, room: Path) -> dict[str, float]:
    with container_region(engine, room) as region:
        begun = time.monotonic()
        web = region.run("web-0", 10)
        web.until_listening()
        first = time.monotonic() - begun
        told: list[dict[str, Any]] = [_with_agent(region, web, number + 1) for number in range(_AGENT_ROUNDS)]
        found = {name: statistics.median(each[name] for each in told) for name in told[0]}
        kilobytes, share = idle_cost(region.server.process.pid)
    found["create, until its agent has read its document"] = first
    print(f"{engine.kind:8} a server with one machine: {kilobytes} KiB, {share:.2f} % of a core when idle", flush=True)
    return found


def main() -> None:
    for kind in sys.argv[1:] or ("dockerd", "podman"):
        with tempfile.TemporaryDirectory() as room, daemon(kind, Path(room) / "0") as only:
            (Path(room) / "agents").mkdir()
            _show(kind, _agents(only, Path(room) / "agents"))
            bench = ContainerBench((only,))
            lives = [one_life(bench) for _ in range(_ROUNDS)]
            _show(kind, {name: statistics.median(life[name] for life in lives) for name in lives[0]})
            _show(kind, _many(bench, only))
            for name in only.names():  # a thousand, which podman takes minutes for
                only.socket.ask("DELETE", f"/containers/{name}", {"force": "1", "v": "1"})
            bench.close()


def _show(kind: str, found: dict[str, float]) -> None:
    for name, seconds in found.items():
        print(f"{kind:8} {name:48} {seconds * 1000:9.1f} ms", flush=True)


if __name__ == "__main__":
    main()

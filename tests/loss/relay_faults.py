"""What may go wrong with a relay: it dies, sleeps, is cut off from its region, or is led to another one."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.loss.doors import RelayDoor
from tests.loss.history import Wrong
from tests.loss.machines import Node
from tests.loss.roster import FLEET
from tests.loss.world import OPTIONS
from tests.waiting import until

if TYPE_CHECKING:
    from tests.loss.faults import Nemesis

_ENDS_WITHIN_SECONDS = 60.0  # a relay that was misled notices at once; a busy machine takes its time
_MANY = 1000  # records that another region has, more than a round: then its number alone does not give it away


def kill(nemesis: Nemesis, _node: Node) -> RelayDoor:
    relay = _relay(nemesis)
    relay.kill()
    nemesis.last(0.2)
    relay.start()
    return relay


def restart(nemesis: Nemesis, _node: Node) -> RelayDoor:
    relay = _relay(nemesis)
    relay.stop()
    relay.start()
    return relay


def sleep(nemesis: Nemesis, _node: Node) -> RelayDoor:
    relay = _relay(nemesis)
    relay.sleep()
    nemesis.last()
    relay.wake()
    return relay


def cut_off(nemesis: Nemesis, _node: Node) -> RelayDoor:
    """From all nodes, in one of the ways in which wires fail."""
    relay = _relay(nemesis)
    how = nemesis.chance.choice(("cut", "snap", "swallow", "delay", "ambush"))
    for _ in range(5 if how == "snap" else 1):
        for wire in relay.upstreams:
            match how:
                case "cut":
                    relay.wires.cut(wire)
                case "snap":
                    relay.wires.snap(wire)
                case "swallow":
                    relay.wires.swallow(wire)
                case "delay":
                    relay.wires.delay(wire, nemesis.chance.uniform(0.02, 0.3))
                case "ambush":
                    relay.wires.ambush(wire, nemesis.chance.choice((0.02, 0.1)))
        nemesis.last(0.05 if how == "snap" else 1.0)
    relay.heal()
    return relay


def mislead(nemesis: Nemesis, _node: Node) -> RelayDoor:
    """Another region answers where its own did, with VMs of the same names: it must end, and tell nothing of that.

    One that knows nothing yet would begin with whatever answers, and be right; it is killed instead.
    """
    relay = _relay(nemesis)
    if not relay.is_ready():
        relay.kill()
        relay.heal()
        return relay
    with _another_region(nemesis) as other:
        relay.leave_alone()
        for wire in relay.upstreams:
            relay.wires.lead(wire, other.control_port)
            relay.wires.snap(wire)
        status = relay.end_by_itself(_ENDS_WITHIN_SECONDS)
        if status != 1:
            told = "did not end" if status is None else f"ended with status {status}"
            nemesis.book.add(Wrong(f"{relay.name} was led to another region and {told}"))
        relay.kill()
    relay.heal()
    return relay


@contextmanager
def _another_region(nemesis: Nemesis) -> Iterator[Node]:
    apart = nemesis.world.directory / "another"  # what it writes down is no part of the round
    apart.mkdir(exist_ok=True)
    data = apart / f"data-{nemesis.chance.randrange(1 << 30)}"
    node = Node(name="other", directory=apart, data=data, options=OPTIONS, turnable=False)
    node.start()
    try:
        until(node.is_ready, "another region is there", lambda: node.log.read_text()[-1500:])
        many = {"name": "many", "count": _MANY}
        for body in (*(body for _, body in FLEET), *([many] if nemesis.chance.random() < 0.5 else [])):
            _make(node, {**body, "numbered": True})
        yield node
    finally:
        node.kill()


def _make(node: Node, body: dict[str, object]) -> None:
    line = http.client.HTTPConnection("127.0.0.1", node.control_port, timeout=30)
    try:
        line.request("POST", "/v1/vms", json.dumps(body), {"Content-Type": "application/json"})
        assert line.getresponse().status == 201, "another region cannot be made"
    finally:
        line.close()


def _relay(nemesis: Nemesis) -> RelayDoor:
    return nemesis.chance.choice(nemesis.world.relays)

"""Three agents where those of Azure are, each in its own network with the service at 169.254.169.254."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agents import AgentProgram, Wire, agents, step, toml
from tests.e2e.program import ServerProgram
from tests.e2e.test_netns import Realm
from tests.waiting import until

_TOGETHER = """
[[rule]]
name = "always"
verdict = "prepare-then-approve"

[barrier]
listen = "0.0.0.0:16928"
address = "http://10.9.0.{name}:16928"
secret_file = "SECRET"
"""
_NAMES = ("11", "12", "13")  # so that the template makes addresses of them


@pytest.fixture
def realm() -> Iterator[Realm]:
    with Realm.made() as made:
        yield made


def _connect(realm: Realm) -> None:
    """One network between all guests, beside the address of the service that each has for itself."""
    realm.run("ip", "link", "add", "lan", "type", "bridge")
    realm.run("ip", "link", "set", "lan", "up")
    for name in _NAMES:
        realm.make_guest(name)
        realm.run("ip", "link", "add", f"to{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
        realm.run("ip", "link", "set", f"to{name}", "master", "lan", "up")
        realm.run("ip", "address", "add", f"10.9.0.{name}/24", "dev", "eth0", netns=name)
        realm.run("ip", "link", "set", "eth0", "up", netns=name)


def _agent(realm: Realm, tmp_path: Path, wire: Wire, name: str) -> AgentProgram:
    directory, secret = tmp_path / name, tmp_path / "secret"
    directory.mkdir()
    secret.write_text("0123456789abcdef0123456789abcdef")
    secret.chmod(0o600)
    config = directory / "agent.toml"
    text = _TOGETHER.replace("SECRET", str(secret)) + step(wire, name, "a")
    config.write_text(toml("169.254.169.254", directory, text))
    enter = ("env", f"PATH={os.environ['PATH']}:/usr/sbin:/sbin", "ip", "netns", "exec", name)
    return AgentProgram(directory, config, wrapper=(*realm.wrapper, *enter))


def _facts(realm: Realm, server: ServerProgram, word: str) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in realm.forewarn(server, "journal", "export").splitlines()]
    return [record for record in records if record["fact"] == word]


@pytest.mark.slow
def test_three_agents_share_an_event_over_two_of_them_and_one_of_those_is_killed(
    realm: Realm, tmp_path: Path, wire: Wire
) -> None:
    _connect(realm)
    with realm.serve(tmp_path / "data", "--update-domains", "2", "--fault-domains", "1") as server:
        for name in _NAMES:
            realm.forewarn(server, "vm", "create", name, "--availability-set", "front", "--netns", name)
        for name in _NAMES:
            realm.document(name)
        first, bystander, second = (_agent(realm, tmp_path, wire, name) for name in _NAMES)
        host = json.loads(realm.forewarn(server, "vm", "show", "11", "--json"))["host"]
        with agents(first, bystander, second):
            realm.forewarn(server, "host", "maintain", host, "--kind", "reboot")
            (event,) = realm.document("12")["Events"]
            assert event["Resources"] == ["11", "13"]
            bystander.start()
            first.start()
            wire.until("11:do:a")
            assert _facts(realm, server, "EventApproved") == []
            first.end(signal.SIGKILL)
            second.start()
            wire.until("13:do:a")
            assert _facts(realm, server, "EventApproved") == []
            first.start()
            until(lambda: _facts(realm, server, "EventStarted"), "the event to start", first.log.read_text)
            realm.forewarn(server, "clock", "advance", "30m")
            wire.until("11:undo:a", "13:undo:a")
            assert [each.end() for each in (first, bystander, second)] == [0, 0, 0]
            (approval,) = _facts(realm, server, "EventApproved")
    assert sorted(wire.lines) == ["11:do:a", "11:undo:a", "13:do:a", "13:undo:a"]
    assert approval["body"]["by"] == "11"

"""A scale set that az made, its instances in namespaces: unmodified guest programs at 169.254.169.254 live in them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agents import AgentProgram, Wire, agents, step
from tests.e2e.az import Az
from tests.e2e.az_region import IMAGE, PASSWORD, UNIFORM
from tests.e2e.program import ServerProgram
from tests.e2e.test_netns import Realm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
_SAMPLE = Path(__file__).with_name("cs") / "Sample.cs"


@pytest.fixture
def realm() -> Iterator[Realm]:
    with Realm.made() as made:
        yield made


@dataclass(frozen=True)
class _Region:
    """A region in a realm, with az beside it and instances in namespaces."""

    realm: Realm
    server: ServerProgram
    variables: dict[str, str]
    directory: Path

    def az(self, command: str, *more: str) -> Any:
        az = Az.bare(self.directory, **self.variables)
        environment = [f"{name}={value}" for name, value in az.environment.items()]
        told = self.realm.run("env", "-i", *environment, str(az.program), *command.split(), *more, "--output", "json")
        return json.loads(told) if told.strip() else None

    def forewarn(self, *arguments: str) -> str:
        return self.realm.forewarn(self.server, *arguments)

    def vm(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.forewarn("vm", "show", name, "--json"))
        return found

    def agent(self, name: str, wire: Wire) -> AgentProgram:
        """An agent that is told nothing of where to ask."""
        directory = self.directory / name
        directory.mkdir()
        config = directory / "agent.toml"
        rule = '[[rule]]\nname = "always"\nverdict = "prepare-then-approve"\n'
        head = f'[agent]\npoll = "1s"\nmargin = "5s"\nstate_directory = "{directory / "state"}"\n'
        config.write_text(head + rule + step(wire, name, "drain"))
        enter = ("env", f"PATH={os.environ['PATH']}:/usr/sbin:/sbin", "ip", "netns", "exec", name)
        return AgentProgram(directory, config, wrapper=(*self.realm.wrapper, *enter))


@pytest.fixture
def region(realm: Realm, tmp_path: Path) -> Iterator[_Region]:
    with realm.serve(tmp_path / "data") as server:
        told = realm.forewarn(server, "az-env", "--dir", str(tmp_path / "az"), "--json")
        yield _Region(realm, server, json.loads(told), tmp_path)


def _compiled(directory: Path) -> Path:
    program = directory / "Sample.exe"
    subprocess.run(["mcs", "-warnaserror", f"-out:{program}", _SAMPLE], check=True, timeout=60)
    return program


def test_agent_and_sample_live_in_the_instances_of_a_set_that_az_made(region: _Region, wire: Wire) -> None:
    for number in range(3):
        region.realm.make_guest(f"web_{number}")
    region.az(
        "vmss create -g forewarn -n web --instance-count 2 --terminate-notification-time 10",
        *IMAGE,
        *PASSWORD,
        *UNIFORM,
    )
    region.forewarn("vmss", "bind", "web", "--netns", "{name}")
    sample = _compiled(region.directory)

    # A redeploy, which the sample of 2017 lets start; the instance stays bound and its host is another.
    empty = json.loads(region.realm.run("mono", str(sample), netns="web_0"))
    host = region.vm("web_0")["host"]
    region.forewarn("vmss", "redeploy", "web", "0")
    shown = json.loads(region.realm.run("mono", str(sample), netns="web_0"))
    region.forewarn("clock", "advance", "1h")
    moved = region.vm("web_0")

    assert empty["Events"] == []
    assert [(each["EventType"], each["Resources"]) for each in shown["Events"]] == [("Redeploy", ["_web_0"])]
    assert moved["host"] != host
    assert moved["ephemeral_disks"] == 2
    assert region.realm.document("web_0")["Events"] == []

    # Scale-out by az: the new instance is where its siblings are, and its agent prepares for its deletion.
    region.az("vmss scale -g forewarn -n web --new-capacity 3")
    agent = region.agent("web_2", wire)
    with agents(agent):
        agent.start()
        name_url = "http://169.254.169.254/metadata/instance/compute/name?api-version=2021-02-01&format=text"
        assert region.realm.curl("web_2", "-H", "Metadata:true", name_url) == (200, "web_2")
        region.forewarn("vmss", "delete-instances", "web", "2")
        wire.until("web_2:do:drain")
        while "web_2" in region.forewarn("vm", "list", "--names").split():
            region.forewarn("clock", "advance", "1s")  # each command takes longer than the agent needs for a look

    # Scale-in has freed the namespace.
    region.forewarn("vm", "create", "heir", "--netns", "web_2")
    assert region.realm.curl("web_2", "-H", "Metadata:true", name_url) == (200, "heir")

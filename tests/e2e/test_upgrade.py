"""A region, an agent and their files go on from 0.1: the program that wrote them is run from its own wheel first.

The wheel in ``tests/upgrade`` is version 0.1.0 as it was. It runs on the packages of this environment.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import FOREWARN, ROOT, ServerProgram, ask, clean_environment, run

WHEEL = ROOT / "tests" / "upgrade" / "forewarn-0.1.0-py3-none-any.whl"
_HOURS = "9h"  # longer than any notice, impact and recovery that is left open here, campaigns included
_VERSIONS = ("2017-08-01", "2019-08-01", "2020-07-01")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of 0.1."""
    directory = tmp_path_factory.mktemp("old")
    target = directory / "packages"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", target, WHEEL], check=True, timeout=100)
    command = directory / "forewarn"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={target} exec {sys.executable} -m forewarn "$@"\n')
    command.chmod(0o755)
    assert run("version", program=command).stdout == "forewarn 0.1.0\n"
    return command


@dataclass
class Told:
    """What guests were told: every number and its document, by VM, api-version and incarnation."""

    documents: dict[tuple[str, str, int], dict[str, Any]] = field(default_factory=dict)

    def look(self, server: ServerProgram, *vms: str) -> None:
        for vm in vms:
            for version in _VERSIONS:
                found = ask(server.metadata, f"/vm/{vm}/metadata/scheduledevents?api-version={version}").document
                self.documents[vm, version, found["DocumentIncarnation"]] = found

    def highest(self, vm: str) -> int:
        return max(number for name, _, number in self.documents if name == vm)

    def last(self, vm: str) -> dict[str, Any]:
        return self.documents[vm, "2020-07-01", self._latest[vm]]

    _latest: dict[str, int] = field(default_factory=dict)

    def look_last(self, server: ServerProgram, *vms: str) -> None:
        self.look(server, *vms)
        for vm in vms:
            self._latest[vm] = server.document(vm)["DocumentIncarnation"]


_READERS = ("web-0", "db", "fleet_0", "quiet")


def _leave_work_open(server: ServerProgram) -> Told:
    """Everything that may be open at once, some of it as only 0.1 would have left it."""
    told, do = Told(), server.forewarn
    do("vm", "create", "web", "--count", "4", "--availability-set", "front")
    do("vm", "create", "db")
    do("vm", "create", "quiet")
    do("vm", "create", "cheap", "--spot")
    do("vmss", "create", "fleet", "--capacity", "3", "--terminate-notice", "10m")
    told.look(server, "quiet")
    do("vm", "restart", "quiet")
    told.look(server, "quiet")
    do("clock", "advance", "26h")  # a day without a read: nothing waits for 'quiet' any more
    told.look(server, "quiet")  # a second enabling, in which 0.1 counts from 1 again
    told.look(server, *_READERS, "cheap")
    do("vm", "restart", "web-1")
    do("vm", "restart", "web-1")  # 0.1 makes two events of that
    do("vm", "redeploy", "db")
    (redeploy,) = server.document("db")["Events"]
    assert server.approve("db", redeploy["EventId"]).status == 200  # started, and its impact is under way
    do("vm", "evict", "cheap")
    do("vmss", "delete-instances", "fleet", "1")
    host = server.json("vm", "show", "web-2")["host"]
    do("host", "maintain", host, "--kind", "reboot")
    do("vm", "delete", "web-3")
    do("campaign", "start", "--kind", "freeze")
    told.look_last(server, *_READERS)
    return told


def _snapshots(data: Path) -> list[str]:
    return sorted(path.name for path in data.glob("snapshot-*.bin"))


def _ignored(server: ServerProgram) -> list[str]:
    """What a server says of snapshots that it does not use."""
    return [line for line in server.log.read_text().splitlines() if "The facts rebuild what it held." in line]


def _without_resources(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: value for name, value in event.items() if name != "Resources"} for event in document["Events"]]


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_a_region_that_was_left_open_by_the_version_before_goes_on(old: Path, tmp_path: Path, how: str) -> None:
    data = tmp_path / "data"
    with ServerProgram.start(data, "--clock", "virtual", program=old) as before:
        told = _leave_work_open(before)
        events = {event["id"]: event["not_before"] for event in before.json("event", "list")}
        (campaign,) = before.json("campaign", "list")
        if how == "stopped":
            assert before.stop() == 0
    assert events
    left = _snapshots(data)  # 0.1 keeps one at its end, or after more facts than there are here
    assert len(left) == (how == "stopped")

    with ServerProgram.start(data, "--clock", "virtual") as server:
        ignored = _ignored(server)
        assert len(ignored) == len(left)
        for name, line in zip(left, ignored, strict=True):
            assert f"{name} is ignored: forewarn 0.1.0 wrote it in format 2; this one reads " in line
        assert {event["id"]: event["not_before"] for event in server.json("event", "list")} == events
        for vm in _READERS:
            for version in _VERSIONS:
                target = f"/vm/{vm}/metadata/scheduledevents?api-version={version}"
                now = ask(server.metadata, target).document
                number = now["DocumentIncarnation"]
                assert number >= told.highest(vm), f"{vm} was told {told.highest(vm)} already, and now {number}"
                known = told.documents.get((vm, version, number))
                assert known is None or known == now, "a number that was told names another document"
            assert _without_resources(server.document(vm)) == _without_resources(told.last(vm))
        server.forewarn("clock", "advance", _HOURS)
        assert server.json("event", "list") == []
        assert server.json("campaign", "show", campaign["id"])["state"] == "completed"
        assert {vm["name"]: vm["boots"] for vm in server.json("vm", "list")}["db"] >= 2
        server.forewarn("journal", "verify")
        assert server.stop() == 0
        assert "Traceback" not in server.log.read_text()
    assert _snapshots(data)[-1] not in left, "the new version keeps its own"
    with ServerProgram.start(data, "--clock", "virtual") as server:
        assert _ignored(server) == ignored, "which is used; one log holds all that was said"


_AGENT = """
[agent]
endpoint = "{endpoint}"
poll = "1s"
state_directory = "{state}"

[[rule]]
name = "always"
verdict = "prepare-then-approve"

[[step]]
name = "note"
kind = "command"
run = ["/bin/sh", "-c", "echo done >>{notes}"]
undo = ["/bin/sh", "-c", "echo undone >>{notes}"]
"""


def test_an_agent_goes_on_from_what_the_version_before_had_prepared(old: Path, tmp_path: Path) -> None:
    """0.1 prepares and approves; the new one finds the machine back and restores, once."""
    notes = tmp_path / "notes"
    with ServerProgram.start(tmp_path / "data", "--clock", "virtual") as server:
        server.forewarn("vm", "create", "web-0")
        server.document("web-0")
        server.forewarn("vm", "restart", "web-0")
        config = tmp_path / "agent.toml"
        endpoint = f"{server.metadata}/vm/web-0"
        config.write_text(_AGENT.format(endpoint=endpoint, state=tmp_path / "state", notes=notes))
        _once(old, config)
        assert notes.read_text() == "done\n"
        (event,) = server.json("event", "list")
        assert event["phase"] == "started"
        server.forewarn("clock", "advance", "1h")
        assert server.json("event", "list") == []
        _once(FOREWARN, config)
        assert notes.read_text() == "done\nundone\n"
        _once(FOREWARN, config)
        assert notes.read_text() == "done\nundone\n"


def _once(program: Path, config: Path) -> None:
    run("agent", "run", "--once", "--config", config, program=program)


_OPTIONS = """
import argparse, json
from forewarn.cli.main import build_parser

def walk(parser, path):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from walk(below, (*path, name))
        else:
            yield from (" ".join((*path, option)) for option in action.option_strings)
print(json.dumps(sorted(walk(build_parser(), ()))))
"""


def _options(packages: Path) -> set[str]:
    environment = clean_environment(PYTHONPATH=str(packages))
    done = subprocess.run(
        [sys.executable, "-c", _OPTIONS], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout))


def test_every_option_of_the_version_before_is_still_taken(old: Path) -> None:
    before = _options(old.with_name("packages"))
    assert len(before) > 100
    assert not before - _options(ROOT / "src")


def test_the_files_that_the_version_before_makes_and_reads_are_still_read(old: Path, tmp_path: Path) -> None:
    """The agent's file as 0.1 installs it, and a region file with every setting of 0.1 and every key of a VM."""
    run("agent", "install", "--root", tmp_path, program=old)
    run("agent", "check", "--config", tmp_path / "etc" / "forewarn" / "agent.toml")
    region = tmp_path / "region.toml"
    region.write_text(_settings(old) + _FLEET)
    for program in (old, FOREWARN):
        with ServerProgram.start(tmp_path / program.parent.name, "--config", region, program=program) as server:
            vms = {vm["name"]: vm for vm in server.json("vm", "list")}
            assert sorted(vms) == ["cheap", "door", "role-0", "role-1", "web"]


_FLEET = """
[[vm]]
name = "web"
availability_set = "front"
terminate_notice = "10m"
size = "Standard_D4s_v5"
os_type = "Windows"
tags = { team = "shop" }
address = "127.0.0.9"

[[vm]]
name = "role"
count = 2
cloud_service = "classic"
role = "worker"
vnet = false

[[vm]]
name = "cheap"
spot = true
eviction_policy = "Delete"

[[vm]]
name = "door"
local_address = "127.0.0.8"
"""


def _settings(program: Path) -> str:
    """What 0.1 says of its own settings, as a file; where it listens and keeps its data the test says itself."""
    shown = json.loads(run("settings", "--json", program=program).stdout)
    ours = ("data", "metadata", "control", "resource_manager", "profile")
    given = [row for row in shown if row["name"] not in ours and row["value"]]
    assert len(given) > 40
    return "[settings]\n" + "".join(f"{row['name']} = {json.dumps(str(row['value']))}\n" for row in given)

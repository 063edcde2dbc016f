"""Declared machines as a server's engines and hosts, and the command that turns a lost host off."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.core.machines.values import ErrandKind
from forewarn.core.rules import NotMigratable, Rules
from forewarn.plane.hands.engine import EngineFault
from forewarn.plane.hands.settings import MachineSettings
from forewarn.server.fencing import fence_by
from forewarn.server.machines import machines_of, settings_of
from forewarn.server.parts import rules_of
from forewarn.settings.machine_entries import MachinesEntry
from forewarn.settings.region_file import read_region_file
from forewarn.settings.resolve import resolve

SECOND = timedelta(seconds=1)
TEXT = """\
[machines]
grace = "7s"
crash_restarts = 1
when_not_migratable = "freeze"
duration_from_engine = true
locks = "{locks}"
[[engine]]
name = "boxes"
kind = "docker"
node = "alpha"
socket = "/run/docker.sock"
[[host]]
name = "rack-1"
engine = "boxes"
fence = ["true"]
update_domain = 2
[[host]]
name = "rack-2"
engine = "boxes"
capacity = 3
"""


def test_hosts_behind_one_socket_share_its_engine_and_one_lock(tmp_path: Path) -> None:
    (tmp_path / "region.toml").write_text(TEXT.format(locks=(tmp_path / "locks").as_posix()))
    file = read_region_file(tmp_path / "region.toml")
    settings = resolve({}, {}, file.settings, file.path)
    machines = machines_of(file.declared, settings)

    first, second = machines.hosts
    assert machines.node == "alpha"
    assert first.engine is second.engine
    assert (first.lock is None, second.lock is None) == (False, True)
    assert (first.fence is None, second.fence is None) == (False, True)
    assert (first.update_domain, first.capacity, second.capacity) == (2, settings.vms_per_host, 3)
    assert ErrandKind.MIGRATE not in first.registering().kinds
    rules = rules_of(settings, file.declared.machines)
    assert (rules.grace, rules.crash_restarts) == (7 * SECOND, 1)
    assert (rules.when_not_migratable, rules.duration_from_engine) == (NotMigratable.FREEZE, True)


def test_what_is_usual_in_the_file_is_usual_for_hands() -> None:
    assert settings_of(MachinesEntry()) == MachineSettings()
    rules, usual = rules_of(resolve({}, {})), Rules()
    assert (rules.grace, rules.crash_restarts) == (usual.grace, usual.crash_restarts)
    assert (rules.when_not_migratable, rules.duration_from_engine) == (NotMigratable.REFUSE, False)
    shared = set(MachineSettings.__struct_fields__) & set(Rules.__struct_fields__)
    assert not shared, "each number has one reader"


def test_each_number_of_the_file_reaches_the_hands() -> None:
    second = MachinesEntry(
        migration_timeout=SECOND,
        migration_downtime=SECOND,
        listing_every=SECOND,
        call_timeout=SECOND,
        silent_after=SECOND,
        fence_after=SECOND,
        parallel=1,
    )
    told, usual = settings_of(second), MachineSettings()
    for name in MachineSettings.__struct_fields__:
        assert getattr(told, name) == (1 if name == "parallel" else SECOND) != getattr(usual, name), name


def test_a_fence_that_ends_with_0_has_turned_the_host_off() -> None:
    fence_by((sys.executable, "-c", ""), "rack-1", 60 * SECOND)()


def test_a_fence_that_fails_is_told_without_its_command_and_output() -> None:
    script = "import sys; sys.exit('s3cret is wrong')"
    with pytest.raises(EngineFault, match="the fence of host rack-1 ended with status 1") as told:
        fence_by((sys.executable, "-c", script), "rack-1", 60 * SECOND)()

    assert "s3cret" not in str(told.value)
    assert told.value.__cause__ is None


def test_a_fence_that_is_not_there_or_does_not_end_has_not_turned_it_off() -> None:
    with pytest.raises(EngineFault, match=r"cannot be run: (No such file|File not found|The system cannot find)"):
        fence_by(("/no/such/fence",), "rack-1", SECOND)()
    with pytest.raises(EngineFault, match="has not ended within 0:00:01"):
        fence_by((sys.executable, "-c", "import time; time.sleep(60)"), "rack-1", SECOND)()

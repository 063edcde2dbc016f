"""Agents of VMs that share an event: it is approved once, after all are prepared, or as their files say."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from forewarn.core.causes import Cause
from forewarn.core.commands import DeleteVms, MaintainHosts
from forewarn.core.rules import Rules
from forewarn.core.specs import ScopeKind, VmSpec
from tests.e2e.agents import PREPARE, AgentProgram, Wire, agent_of, agents, run_out, step, watch
from tests.e2e.metadata_region import MetadataRegion, metadata_region
from tests.ports import free_port

_TOGETHER = VmSpec(kind=ScopeKind.AVAILABILITY_SET, set_name="front")
_ONE_HOST = Rules(update_domains=1, fault_domains=1)


def _pair(region: MetadataRegion, tmp_path: Path, wire: Wire, *, extra: str = "") -> list[AgentProgram]:
    """Two VMs of one set on one host, whose agents know each other."""
    names = ("web-0", "web-1")
    region.create(*names, spec=_TOGETHER)
    region.get("web-0")
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef0123456789abcdef")
    secret.chmod(0o600)
    hosts = {"web-0": f"127.0.0.1:{free_port()}", "web-1": f"127.0.0.1:{free_port()}"}
    found = []
    for vm, other in (names, reversed(names)):
        barrier = f"""
[barrier]
listen = "{hosts[vm]}"
address = "http://{hosts[other]}/{{name}}"
secret_file = "{secret}"
{extra}
"""
        found.append(agent_of(region, tmp_path / vm, vm, PREPARE + barrier + step(wire, vm, "a")))
    return found


def test_a_shared_event_is_approved_once_and_after_both_are_prepared(tmp_path: Path, wire: Wire) -> None:
    with metadata_region(rules=_ONE_HOST) as region:
        facts, (first, second) = watch(region), _pair(region, tmp_path, wire)
        with agents(first, second):
            region.submit(MaintainHosts((), Cause.REBOOT, "seed"))
            first.start()
            wire.until("web-0:do:a")
            assert facts.approvals == []
            second.start()
            facts.until_started()
            assert sorted(wire.read()) == ["web-0:do:a", "web-1:do:a"]
            run_out(region)
            wire.until("web-0:undo:a", "web-1:undo:a")
            assert [first.end(), second.end()] == [0, 0]
        assert facts.approvals == ["web-0"]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 6))
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_shared_event_survives_the_death_of_the_one_that_approves(
    tmp_path: Path, wire: Wire, when: str, number: int
) -> None:
    with metadata_region(rules=_ONE_HOST) as region:
        facts, (first, second) = watch(region), _pair(region, tmp_path, wire)
        with agents(first, second):
            region.submit(MaintainHosts((), Cause.REBOOT, "seed"))
            second.start()
            first.start(when, number)
            assert first.wait() == -signal.SIGKILL
            first.start()
            facts.until_started()
            assert sorted(wire.read()) == ["web-0:do:a", "web-1:do:a"]
            run_out(region)
            wire.until("web-0:undo:a", "web-1:undo:a")
            assert [first.end(), second.end()] == [0, 0]
        assert len(wire.lines) == 4
        assert facts.approvals == ["web-0"]


def test_a_member_that_is_deleted_while_it_is_awaited_is_awaited_no_longer(tmp_path: Path, wire: Wire) -> None:
    with metadata_region(rules=_ONE_HOST) as region:
        facts, (first, _) = watch(region), _pair(region, tmp_path, wire)
        with agents(first):
            region.submit(MaintainHosts((), Cause.REBOOT, "seed"))
            first.start()
            wire.until("web-0:do:a")
            assert facts.approvals == []
            region.submit(DeleteVms(("web-1",), "gone"))
            facts.until_started()
            assert first.end() == 0
        assert facts.approvals == ["web-0"]


def test_a_silent_member_is_waited_for_no_longer_than_patience(tmp_path: Path, wire: Wire) -> None:
    with metadata_region(rules=_ONE_HOST) as region:
        facts, (_, second) = watch(region), _pair(region, tmp_path, wire, extra='patience = "1s"')
        with agents(second):
            region.submit(MaintainHosts((), Cause.REBOOT, "seed"))
            second.start()
            facts.until_started()
        assert facts.approvals == ["web-1"]


@pytest.mark.parametrize(("sharing", "approvals"), [("alone", ["web-1"]), ("never", [])])
def test_a_shared_event_is_approved_alone_or_never_where_that_is_wanted(
    tmp_path: Path, wire: Wire, sharing: str, approvals: list[str]
) -> None:
    with metadata_region(rules=_ONE_HOST) as region:
        region.create("web-0", "web-1", spec=_TOGETHER)
        region.get("web-0")
        text = f'{PREPARE}[barrier]\nsharing = "{sharing}"\n' + step(wire, "web-1", "a")
        facts, agent = watch(region), agent_of(region, tmp_path / "web-1", "web-1", text)
        with agents(agent):
            region.submit(MaintainHosts((), Cause.REBOOT, "seed"))
            agent.start("never", 0, "--once")
            assert agent.wait() == 0
        assert wire.read() == ["web-1:do:a"]
        assert facts.approvals == approvals

"""Agents as their VMs run them: processes of their own against a real region, killed at the worst moments."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.core.causes import Cause
from forewarn.core.commands import CancelEvents, Command, DeleteVms, EvictVms, MaintainHosts, RestartVms
from forewarn.core.specs import VmSpec
from forewarn.guest.agent.config.defaults import COMMENTED_TOML
from forewarn.web.faults import FaultKind, FaultRule
from forewarn.web.metadata.settings import Limits, MetadataSettings
from tests.e2e.agents import PREPARE, AgentProgram, Wire, agent_of, agents, run_out, step, watch
from tests.e2e.metadata_region import MetadataRegion, metadata_region

_WHOLE_STORY = ["web-0:do:a", "web-0:do:b", "web-0:undo:b", "web-0:undo:a"]


def _alone(region: MetadataRegion, tmp_path: Path, wire: Wire, *, more: str = "") -> AgentProgram:
    region.create("web-0")
    region.get("web-0")
    text = PREPARE + step(wire, "web-0", "a", more=more) + step(wire, "web-0", "b", more=more)
    return agent_of(region, tmp_path / "web-0", "web-0", text)


def test_an_event_is_prepared_for_then_approved_and_undone_in_reverse(tmp_path: Path, wire: Wire) -> None:
    with metadata_region() as region:
        facts, agent = watch(region), _alone(region, tmp_path, wire)
        with agents(agent):
            agent.start()
            region.restart("web-0")
            facts.until_started()
            assert wire.read() == ["web-0:do:a", "web-0:do:b"]
            run_out(region)
            wire.until("web-0:undo:a")
            assert agent.end() == 0
        assert wire.lines == _WHOLE_STORY
        assert facts.approvals == ["web-0"]


def _killed(region: MetadataRegion, tmp_path: Path, wire: Wire, when: str, number: int) -> list[str]:
    """The whole story, with one death at the given record and a second life after it."""
    facts, agent = watch(region), _alone(region, tmp_path, wire)
    with agents(agent):
        region.restart("web-0")
        agent.start(when, number)
        if number <= 7:  # records up to the approval that was sent
            assert agent.wait() == -signal.SIGKILL
            agent.start()
            facts.until_started()
            run_out(region)
        else:
            facts.until_started()
            run_out(region)
            assert agent.wait() == -signal.SIGKILL
            agent.start()
        wire.until("web-0:undo:a")
        agent.end()
    assert facts.approvals == ["web-0"]
    return wire.lines


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 14))
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_agent_killed_at_any_record_goes_on_where_it_was(tmp_path: Path, wire: Wire, when: str, number: int) -> None:
    with metadata_region() as region:
        lines = _killed(region, tmp_path, wire, when, number)
    assert lines == _WHOLE_STORY


class Gate:
    """A named pipe that a step waits at until a test lets it through."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.wait = f"read -r word <{path}; "
        self._file = os.open(path, os.O_RDWR)

    def open(self) -> None:
        os.write(self._file, b"go\n")

    def close(self) -> None:
        os.close(self._file)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    found = Gate(tmp_path / "gate")
    yield found
    found.close()


def _at_the_gate(region: MetadataRegion, tmp_path: Path, wire: Wire, gate: Gate, rules: str = PREPARE) -> AgentProgram:
    """An agent whose first step tells that it has begun and waits, and whose second is quick."""
    before = f"echo web-0:begin:drain >>{wire.path}; {gate.wait}"
    text = rules + step(wire, "web-0", "drain", before=before) + step(wire, "web-0", "leave")
    return agent_of(region, tmp_path / "web-0", "web-0", text)


def test_a_step_that_runs_when_the_agent_is_killed_is_neither_repeated_nor_forgotten(
    tmp_path: Path, wire: Wire, gate: Gate
) -> None:
    with metadata_region() as region:
        region.create("web-0")
        region.get("web-0")
        facts, agent = watch(region), _at_the_gate(region, tmp_path, wire, gate)
        with agents(agent):
            region.restart("web-0")
            agent.start()
            wire.until("web-0:begin:drain")
            agent.end(signal.SIGKILL)
            agent.start()
            gate.open()
            facts.until_started()
            run_out(region)
            wire.until("web-0:undo:drain")
            agent.end()
        begun, *rest = wire.lines
    assert begun == "web-0:begin:drain"
    assert rest == ["web-0:do:drain", "web-0:do:leave", "web-0:undo:leave", "web-0:undo:drain"]
    assert facts.approvals == ["web-0"]


def test_an_agent_that_is_ended_in_a_step_ends_the_step_and_puts_things_right_later(
    tmp_path: Path, wire: Wire, gate: Gate
) -> None:
    with metadata_region() as region:
        region.create("web-0")
        region.get("web-0")
        facts, agent = watch(region), _at_the_gate(region, tmp_path, wire, gate)
        with agents(agent):
            event = region.restart("web-0")
            agent.start()
            wire.until("web-0:begin:drain")
            assert agent.end() == 0
            region.submit(CancelEvents((event,), "not needed"))
            agent.start("never", 0, "--once")
            assert agent.wait() == 0
        assert wire.read() == ["web-0:begin:drain", "web-0:undo:drain"]
        assert facts.approvals == []


def test_an_eviction_in_the_middle_of_a_long_drain_is_prepared_for_at_once(
    tmp_path: Path, wire: Wire, gate: Gate
) -> None:
    rules = f"""
[[rule]]
name = "evictions"
types = ["Preempt"]
verdict = "prepare-then-approve"
steps = ["leave"]
{PREPARE}"""
    with metadata_region() as region:
        region.create("web-0", spec=VmSpec(spot=True))
        region.get("web-0")
        facts, agent = watch(region), _at_the_gate(region, tmp_path, wire, gate, rules)
        with agents(agent):
            region.submit(MaintainHosts((), Cause.REBOOT, "seed"))
            agent.start()
            wire.until("web-0:begin:drain")
            region.submit(EvictVms(("web-0",), "seed"))
            facts.until_started()
            assert wire.read()[:2] == ["web-0:begin:drain", "web-0:do:leave"]
            assert facts.approvals == ["web-0"]
            agent.end()  # and with it the drain, which would wait for ever


def test_an_event_whose_step_failed_is_not_approved_and_what_was_begun_is_undone(tmp_path: Path, wire: Wire) -> None:
    with metadata_region() as region:
        region.create("web-0")
        region.get("web-0")
        steps = step(wire, "web-0", "a", status=255, more="retries = false") + step(wire, "web-0", "b")
        facts, agent = watch(region), agent_of(region, tmp_path / "web-0", "web-0", PREPARE + steps)
        with agents(agent):
            region.restart("web-0")
            agent.start()
            wire.until("web-0:do:b")
            region.advance(timedelta(minutes=16))
            run_out(region)
            wire.until("web-0:undo:a")
            agent.end()
        assert wire.lines == _WHOLE_STORY
        assert facts.approvals == []


def test_a_step_that_failed_once_is_tried_again_and_then_the_event_is_approved(tmp_path: Path, wire: Wire) -> None:
    with metadata_region() as region:
        region.create("web-0")
        region.get("web-0")
        once = f"[ -e {tmp_path}/tried ] || {{ touch {tmp_path}/tried; exit 1; }}; "
        text = PREPARE + step(wire, "web-0", "a", before=once)
        facts, agent = watch(region), agent_of(region, tmp_path / "web-0", "web-0", text)
        with agents(agent):
            region.restart("web-0")
            agent.start("never", 0, "--once")
            assert agent.wait() == 0
        assert facts.approvals == ["web-0"]


def test_a_dry_run_does_nothing_and_says_what_it_would(tmp_path: Path, wire: Wire) -> None:
    with metadata_region() as region:
        facts, agent = watch(region), _alone(region, tmp_path, wire)
        with agents(agent):
            region.restart("web-0")
            agent.start("never", 0, "--once", "--dry-run")
            assert agent.wait() == 0
        assert wire.read() == []
        assert facts.approvals == []
        assert not agent.journal.exists()
        assert "would be approved" in agent.log.read_text()


def test_a_service_without_our_extensions_and_with_faults_is_good_enough(tmp_path: Path, wire: Wire) -> None:
    settings = MetadataSettings(limits=Limits(wait_seconds=0))
    with metadata_region(settings) as region:
        facts, agent = watch(region), _alone(region, tmp_path, wire)
        kinds = (FaultKind.GONE, FaultKind.THROTTLED, FaultKind.EMPTY, FaultKind.DROP, FaultKind.ERROR)
        region.do(lambda: [region.faults.add(FaultRule(kind, times=1)) for kind in kinds])
        with agents(agent):
            region.restart("web-0")
            agent.start()
            facts.until_started()
            run_out(region)
            wire.until("web-0:undo:a")
            agent.end()
        assert wire.lines == _WHOLE_STORY
        assert facts.approvals == ["web-0"]


def test_two_agents_of_one_state_directory_are_one_too_many(tmp_path: Path, wire: Wire) -> None:
    with metadata_region() as region:
        facts, agent = watch(region), _alone(region, tmp_path, wire)
        second = AgentProgram(agent.directory, agent.config)
        with agents(agent, second):
            region.restart("web-0")
            agent.start()
            facts.until_started()
            second.start()
            assert second.wait() == 1
        assert "another agent" in agent.log.read_text()


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (MaintainHosts((), Cause.FREEZE, "seed"), "Freeze"),
        (MaintainHosts((), Cause.REBOOT, "seed"), "Reboot"),
        (MaintainHosts((), Cause.REDEPLOY, "seed"), "Redeploy"),
        (RestartVms(("web-0",), "seed"), "Reboot"),
        (EvictVms(("web-0",), "seed"), "Preempt"),
        (DeleteVms(("web-0",), "seed"), "Terminate"),
    ],
    ids=["freeze", "reboot", "redeploy", "by a user", "eviction", "deletion"],
)
def test_an_agent_with_the_generated_file_gives_none_of_the_vms_time_away(
    tmp_path: Path, command: Command, kind: str
) -> None:
    with metadata_region() as region:
        spot = kind == "Preempt"
        notice = None if spot else timedelta(minutes=5)
        region.create("web-0", spec=VmSpec(spot=spot, terminate_notice=notice))
        region.get("web-0")
        config = tmp_path / "agent.toml"
        settings = f'[agent]\nendpoint = "http://127.0.0.1:{region.face.port}/vm/web-0"\n'
        settings += f'state_directory = "{tmp_path / "state"}"\n'
        config.write_text(COMMENTED_TOML.replace("[agent]\n", settings, 1))
        facts, agent = watch(region), AgentProgram(tmp_path, config)
        region.submit(command)
        with agents(agent):
            agent.start("never", 0, "--once")
            assert agent.wait() == 0
        log = agent.log.read_text()
    assert facts.approvals == []
    assert f"{kind} is announced" in log
    assert 'warning: there are no steps: people are told of events (verdict = "notify")' in log.splitlines()[0]

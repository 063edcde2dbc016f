"""A drill: steps and their undo, nothing approved, nobody told, and whatever goes wrong is undone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.core.facts import EventApproved
from tests.e2e.agents import PREPARE, AgentProgram, Wire, agent_of, agents, step, toml, watch
from tests.e2e.metadata_region import MetadataRegion, metadata_region
from tests.e2e.program import FOREWARN, clean_environment, run
from tests.waiting import until

NOBODY = "http://127.0.0.1:9"  # a port on which nothing listens: a drill needs no metadata service where it has a name


def file_of(directory: Path, steps: str, extra: str = "", name: str = "web-0") -> Path:
    config = directory / "agent.toml"
    config.write_text(toml(NOBODY, directory, PREPARE + steps, extra, name=name))
    return config


def test_steps_are_done_in_order_and_undone_in_reverse_with_nobody_to_ask(tmp_path: Path, wire: Wire) -> None:
    config = file_of(tmp_path, step(wire, "web-0", "a") + step(wire, "web-0", "b"))
    done = run("agent", "drill", "--config", config)
    told = done.stdout

    assert "the drill's Reboot is taken back" in done.stderr
    assert "canceled" not in done.stderr
    assert wire.read() == ["web-0:do:a", "web-0:do:b", "web-0:undo:b", "web-0:undo:a"]
    assert "drill of a Reboot by Platform for web-0; nothing is approved" in told
    assert "rule      'always'" in told
    assert "everything was prepared; all that was done is undone" in told


def test_a_step_is_told_that_this_is_a_drill_and_people_are_told_nothing(tmp_path: Path) -> None:
    seen, hook = tmp_path / "seen", tmp_path / "hook"
    steps = f"""
[[step]]
name = "look"
kind = "command"
shell = true
run = ["echo $FOREWARN_EVENT_ID $FOREWARN_EVENT_TYPE $FOREWARN_EVENT_RESOURCES >{seen}"]
[[notification]]
kind = "webhook"
url = "{NOBODY}/{hook}"
"""
    done = run("agent", "drill", "--config", file_of(tmp_path, steps), "--type", "Preempt", "--json")
    answer = json.loads(done.stdout)

    event_id, *rest = seen.read_text().split()
    assert event_id.startswith("DRILL-")
    assert rest == ["Preempt", "web-0"]
    assert answer["event"]["id"] == event_id
    assert (answer["prepared"], answer["still_in_effect"]) == (True, [])
    assert "webhook" not in done.stderr


def test_a_step_that_fails_ends_the_drill_and_those_before_it_are_undone(tmp_path: Path, wire: Wire) -> None:
    config = file_of(tmp_path, step(wire, "web-0", "a") + step(wire, "web-0", "b", status=3))
    done = run("agent", "drill", "--config", config, status=1)

    assert wire.read() == ["web-0:do:a", *["web-0:do:b"] * 3, "web-0:undo:b", "web-0:undo:a"]
    assert "not prepared: step 'b' failed 3 times in a row; all that was done is undone" in done.stdout
    assert "status 3" in done.stdout


def test_a_step_that_may_not_be_tried_again_ends_it_at_once(tmp_path: Path, wire: Wire) -> None:
    config = file_of(tmp_path, step(wire, "web-0", "b", status=3, more="retries = false"))
    assert "failed for good" in run("agent", "drill", "--config", config, status=1).stdout
    assert wire.read() == ["web-0:do:b", "web-0:undo:b"]


def test_a_step_that_cannot_be_undone_is_named_and_the_next_agent_goes_on(tmp_path: Path, wire: Wire) -> None:
    fence = tmp_path / "fence"
    steps = f"""
[[step]]
name = "a"
kind = "command"
shell = true
run = ["touch {fence}"]
undo = ["test -e {tmp_path}/mended && rm {fence}"]
"""
    config = file_of(tmp_path, steps)
    assert "still in effect: a" in run("agent", "drill", "--config", config, status=1).stdout
    assert "has to see to first" in run("agent", "drill", "--config", config, status=1).stderr

    (tmp_path / "mended").touch()
    with metadata_region() as region:
        region.create("web-0")
        config.write_text(config.read_text().replace(NOBODY, f"http://127.0.0.1:{region.face.port}/vm/web-0"))
        run("agent", "run", "--once", "--config", config)
    assert not fence.exists()
    run("agent", "drill", "--config", config)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_whoever_interrupts_a_drill_has_it_undone(tmp_path: Path, wire: Wire, how: signal.Signals) -> None:
    process = hanging(tmp_path, wire)
    process.send_signal(how)
    assert process.wait(60) == 1
    assert wire.read() == ["web-0:do:a", "web-0:undo:b", "web-0:undo:a"]


def test_what_a_killed_drill_has_changed_the_next_agent_undoes(tmp_path: Path, wire: Wire) -> None:
    process = hanging(tmp_path, wire)
    process.kill()
    process.wait()
    with metadata_region() as region:
        region.create("web-0")
        config = tmp_path / "agent.toml"
        config.write_text(config.read_text().replace(NOBODY, f"http://127.0.0.1:{region.face.port}/vm/web-0"))
        run("agent", "run", "--once", "--config", config)
    assert wire.read() == ["web-0:do:a", "web-0:undo:b", "web-0:undo:a"]


def hanging(tmp_path: Path, wire: Wire) -> subprocess.Popen[bytes]:
    """A drill in the middle of its second step, which waits for what never comes."""
    os.mkfifo(tmp_path / "never")
    there = tmp_path / "there"
    second = step(wire, "web-0", "b", before=f"touch {there}; read -r word <{tmp_path / 'never'}; ")
    config = file_of(tmp_path, step(wire, "web-0", "a") + second)
    process = subprocess.Popen([FOREWARN, "agent", "drill", "--config", config], env=clean_environment())
    until(there.exists, "the second step runs")
    return process


def test_in_a_region_a_drill_approves_nothing_and_a_running_agent_is_not_disturbed(tmp_path: Path, wire: Wire) -> None:
    with metadata_region() as region:
        region.create("web-0")
        region.get("web-0")
        facts = watch(region)
        agent = agent_of(region, tmp_path, "web-0", PREPARE + step(wire, "web-0", "a"))
        run("agent", "drill", "--config", agent.config)
        assert wire.read() == ["web-0:do:a", "web-0:undo:a"]
        with agents(agent):
            agent.start()
            until(lambda: agent.log.exists() and "asking" in agent.log.read_text(), "the agent runs")
            refused = run("agent", "drill", "--config", agent.config, status=1).stderr
            assert "stop the agent for the time of the drill. Nothing was done." in refused
            agent.end()
        assert [fact for fact in facts.facts if isinstance(fact, EventApproved)] == []
    assert wire.read() == ["web-0:do:a", "web-0:undo:a"]


def test_without_a_name_or_a_service_nothing_is_done(tmp_path: Path, wire: Wire) -> None:
    config = file_of(tmp_path, step(wire, "web-0", "a"), name="")
    assert "say it with --name" in run("agent", "drill", "--config", config, status=3).stderr
    assert wire.read() == []


def _start_again(agent: AgentProgram, region: MetadataRegion, later: timedelta) -> None:
    """An agent goes by the time of the service's last answer, and a turned clock alone answers no GET that waits."""
    agent.end()
    region.advance(later)
    agent.start()


def test_outside_of_a_window_an_event_is_prepared_for_and_approved_when_one_opens(tmp_path: Path, wire: Wire) -> None:
    """The region's noon is 12:00 UTC; the restart's NotBefore is 15 minutes later."""
    window = '[[window]]\nname = "later"\nfrom = "12:05"\nto = "12:30"\n'
    with metadata_region() as region:
        region.create("web-0")
        region.get("web-0")
        facts = watch(region)
        agent: AgentProgram = agent_of(region, tmp_path, "web-0", PREPARE + step(wire, "web-0", "a") + window)
        with agents(agent):
            agent.start()
            region.restart("web-0")
            wire.until("web-0:do:a")
            until(lambda: "'later' opens at" in agent.log.read_text(), "the agent says what it waits for")
            assert facts.approvals == []
            _start_again(agent, region, timedelta(minutes=4))
            until(lambda: agent.log.read_text().count("'later' opens at") == 2, "it goes on waiting")
            assert facts.approvals == []
            _start_again(agent, region, timedelta(minutes=2))
            facts.until_started()
            assert agent.end() == 0
        assert facts.approvals == ["web-0"]

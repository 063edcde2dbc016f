"""The agent where nothing of ours is on the other side: no ETag, no waiting, a slow first answer, faults all along."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.core.facts import EventCompleted, ScopeEnabled
from forewarn.plane.clock import TurnableClock
from forewarn.settings.table import PROFILES
from forewarn.web.metadata.settings import MetadataSettings
from tests.e2e.agents import AgentProgram, Wire, agents, step, toml, watch
from tests.e2e.azure_relay import APPROVALS, READS, AzureRelay
from tests.e2e.metadata_region import NOON, metadata_region

_SPEED = 30.0  # a minute of the first read is two seconds, and the notice of a restart thirty
_AZURE = MetadataSettings(
    throttle_per_second=5.0, first_read_delay=timedelta(minutes=1), visibility_lag=timedelta(seconds=30)
)
_PREPARE = """
[[rule]]
name = "always"
verdict = "prepare-then-approve"
"""


def _agent(relay: AzureRelay, directory: Path, wire: Wire) -> AgentProgram:
    directory.mkdir()
    config = directory / "agent.toml"
    steps = step(wire, "web-0", "a") + step(wire, "web-0", "b")
    config.write_text(toml(f"http://127.0.0.1:{relay.port}/vm/web-0", directory, _PREPARE + steps))
    return AgentProgram(directory, config)


def test_the_azure_profile_sets_throttle_first_read_delay_and_visibility_lag() -> None:
    assert PROFILES["azure"] == {"throttle_per_second": "5", "first_read_delay": "60s", "visibility_lag": "30s"}


@pytest.mark.slow
def test_a_service_like_that_of_azure_is_prepared_for_approved_once_and_come_back_from(
    tmp_path: Path, wire: Wire
) -> None:
    with (
        metadata_region(_AZURE, clock=TurnableClock(NOON, _SPEED)) as region,
        AzureRelay.before(region.face.port) as relay,
    ):
        region.create("web-0")
        facts, agent = watch(region), _agent(relay, tmp_path / "web-0", wire)
        with agents(agent):
            agent.start()
            facts.until(lambda found: any(isinstance(fact, ScopeEnabled) for fact in found), "first read")
            region.restart("web-0")
            facts.until_started()
            assert wire.read() == ["web-0:do:a", "web-0:do:b"]
            facts.until(lambda found: any(isinstance(fact, EventCompleted) for fact in found), "end")
            wire.until("web-0:undo:a")
            assert agent.end() == 0
        assert wire.lines == ["web-0:do:a", "web-0:do:b", "web-0:undo:b", "web-0:undo:a"]
        assert facts.approvals == ["web-0"]
        assert {mood for verb, mood in relay.met if verb == "GET"} == set(READS)
        assert {mood for verb, mood in relay.met if verb == "POST"} >= set(APPROVALS[:-1])
        assert relay.conditional == 0
        refusals = [line for line in agent.log.read_text().splitlines() if "refused" in line]
        # An approval whose answer was lost is sent again; on a slow machine the event may be over by then.
        assert [line for line in refusals if "it has ended" not in line] == []

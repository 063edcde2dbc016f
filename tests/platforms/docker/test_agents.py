"""Containers whose own agent approves what their engine then does to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.test_relay import relay
from tests.platforms.docker.agents import HOSTS, METADATA, beside, container_region
from tests.platforms.docker.daemons import Daemon

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("kind", ["dockerd", "podman"])
def test_a_container_approves_its_reboot_and_comes_back(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    engines: tuple[Daemon, ...] = request.getfixturevalue(kind)
    with container_region(engines[0], tmp_path) as region:
        web = region.run("web-0", 10)
        web.until_listening()
        region.forewarn("vm", "restart", "web-0")
        web.until("prepared Reboot")
        web.until("booted", 2)
        region.until_ended("restart", 1)
        approvals = [each["body"]["by"] for each in region.facts("EventApproved")]
        assert approvals == ["web-0"]


@pytest.mark.parametrize("kind", ["dockerd", "podman"])
def test_a_container_behind_a_relay_approves_its_reboot_and_comes_back(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The relay has the containers' end of the network; of the region it knows the one VM that it is for."""
    engines: tuple[Daemon, ...] = request.getfixturevalue(kind)
    (tmp_path / "relay").mkdir()
    with container_region(engines[0], tmp_path, metadata="127.0.0.1:0") as region:
        upstream = ("--upstream", region.server.control, "--vms", "web-0", "--metadata", f"{METADATA}:80")
        with relay(tmp_path / "relay", *upstream, wrapper=beside(region.daemon)):
            web = region.run("web-0", 10)
            web.until_listening()
            region.forewarn("vm", "restart", "web-0")
            web.until("prepared Reboot")
            web.until("booted", 2)
            region.until_ended("restart", 1)
            assert [each["body"]["by"] for each in region.facts("EventApproved")] == ["web-0"]


def test_ten_containers_with_agents_live_through_a_campaign_over_two_hosts(
    dockerd: tuple[Daemon, ...], tmp_path: Path
) -> None:
    with container_region(dockerd[0], tmp_path) as region:
        guests = [region.run(f"web-{number}", 10 + number, HOSTS[number % 2]) for number in range(10)]
        for guest in guests:
            guest.until_listening()
        region.forewarn("campaign", "start", "--kind", "freeze")
        for guest in guests:
            guest.until("prepared Freeze")
        region.until_ended("pause", 10)
        for guest in guests:
            guest.until("restored Freeze")
            assert guest.told().count("booted") == 1
        assert sorted(region.ended("pause")) == sorted(guest.name for guest in guests)
        first = region.ended("pause")[:5]
        assert len({int(name[-1]) % 2 for name in first}) == 1, "one update domain after the other"

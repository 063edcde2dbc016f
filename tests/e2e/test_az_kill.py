"""A server that is killed while ``az`` waits for it: ``az`` does not notice more than a pause."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.e2e.az_region import AzRegion, summary
from tests.e2e.program import PATIENCE_SECONDS, ServerProgram
from tests.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def meet_nobody(port: int) -> None:
    """Until somebody has asked where the server was, and has got no answer."""
    with socket.create_server(("127.0.0.1", port)) as door:
        door.settimeout(PATIENCE_SECONDS)
        door.accept()[0].close()


def test_a_waiting_deletion_survives_a_kill(tmp_path: Path) -> None:
    ports = [free_port() for _ in range(3)]
    faces = zip(("--metadata", "--control", "--resource-manager"), ports, strict=True)
    options = [word for face, port in faces for word in (face, f"127.0.0.1:{port}")]

    with AzRegion.start(tmp_path, *options) as region:
        region.make_set("forewarn", "web", 3, "--terminate-notification-time", "10")
        assert region.events("web_0") == []
        with region.running("vmss delete-instances -g forewarn -n web --instance-ids 1") as command:
            (event,) = region.told("web_0")
            before, head = region.server.document("web_0"), region.head()
            region.server.kill()
            meet_nobody(ports[-1])

            with ServerProgram.start(region.server.data, "--clock", "virtual", *options) as again:
                after = AzRegion(again, region.az)
                assert (again.document("web_0"), after.head()) == (before, head)
                assert command.waits
                after.approve("web_0", event)
                after.pass_minutes(1)
                command.end()
                assert after.names() == ["web_0", "web_2"]
                assert summary(after.events("web_0")) == []
                ended = [each["fact"] for each in again.json("journal", "tail") if each["fact"] == "OperationEnded"]
                assert ended

"""An agent.toml, and a metadata service that answers as Azure does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from forewarn.cli.commands.agent import config as agent_config
from forewarn.guest.agent import run as starting
from forewarn.terms import Document, ScheduledEvent
from forewarn.wire.document import encode_document
from forewarn.wire.times import format_rfc1123
from forewarn.wire.versions import NEWEST
from tests.unit.guest.azure import OK, RawServer

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVENT = ScheduledEvent("A1", "Scheduled", "Reboot", ("web-0",), NOON + timedelta(minutes=15), "", "Platform", -1)
GOOD = """\
[agent]
margin = "15s"

[[rule]]
name = "freezes"
types = ["Freeze"]
verdict = "ignore"

[[step]]
name = "drain"
kind = "command"
run = ["/bin/true"]
undo = ["/bin/false"]
"""


@pytest.fixture(autouse=True)
def no_usual_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever agent lives on the machine of whoever runs the tests is not asked."""
    for module in (agent_config, starting):
        monkeypatch.setattr(module, "CONFIG_PATH", str(tmp_path / "none" / "agent.toml"))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "agent.toml"
    path.write_text(GOOD)
    return path


def document(*events: ScheduledEvent) -> str:
    return encode_document(Document(7, events), NEWEST).decode()


@pytest.fixture
def metadata() -> Iterator[RawServer]:
    def behave(request: bytes) -> bytes:
        body = b'{"compute":{"name":"web-0"}}' if b"/instance" in request else document(EVENT).encode()
        date = f"Date: {format_rfc1123(NOON)}\r\n".encode()
        return OK.replace(b"\r\n\r\n", b"\r\n" + date + b"\r\n") % (len(body), body)

    server = RawServer(behave)
    yield server
    server.close()

"""What is said on macOS about what it has not. Only the words are seen here: macOS itself is never run."""

from __future__ import annotations

import errno
import sys

import pytest

from forewarn.guest.agent.run import AgentOrder, start
from forewarn.server.listening import explained
from forewarn.settings.errors import CannotListen
from forewarn.settings.kinds import Address
from tests.unit.cli.conftest import Run


@pytest.fixture(autouse=True)
def macos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")


def test_the_agent_is_neither_run_nor_installed(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert start(AgentOrder(once=True)) == 2
    assert "the agent is for Linux and Windows, not for macOS" in capsys.readouterr().err

    refused = run("agent", "install", "--dry-run")
    assert refused.status == 2
    assert "the agent is for Linux and Windows, not for macOS" in refused.err


def test_an_address_of_loopback_that_is_not_there_comes_with_the_command_that_adds_it() -> None:
    with pytest.raises(CannotListen, match=r"sudo ifconfig lo0 alias 127\.0\.0\.2"), explained(*_asked("127.0.0.2")):
        raise OSError(errno.EADDRNOTAVAIL, "Can't assign requested address")
    with pytest.raises(CannotListen) as other, explained(*_asked("192.0.2.1")):
        raise OSError(errno.EADDRNOTAVAIL, "Can't assign requested address")
    assert "alias" not in str(other.value)


def _asked(host: str) -> tuple[Address, str]:
    return Address(host, 80), "metadata"

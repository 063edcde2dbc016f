"""What systemd hears."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from forewarn.guest.system.posix.systemd import SystemdNotifier


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(30)
        yield listening


def test_ready_alive_status_and_stopping_are_said(systemd: socket.socket) -> None:
    supervisor = SystemdNotifier(systemd.getsockname())
    supervisor.ready("watching\nREADY=0")
    supervisor.alive()
    supervisor.status("draining for A1")
    supervisor.status("  ")
    supervisor.stopping()

    assert supervisor.listens
    assert [systemd.recv(1024).decode() for _ in range(4)] == [
        "READY=1\nSTATUS=watching READY=0",
        "WATCHDOG=1",
        "STATUS=draining for A1",
        "STOPPING=1",
    ]


def test_an_abstract_address_is_understood() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        name = f"forewarn-test-{os.getpid()}"
        listening.bind(f"\0{name}")
        listening.settimeout(30)
        SystemdNotifier(f"@{name}").alive()

        assert listening.recv(100) == b"WATCHDOG=1"


def test_without_systemd_nothing_happens(tmp_path: Path) -> None:
    SystemdNotifier().ready()
    SystemdNotifier(str(tmp_path / "nobody")).alive()

    assert not SystemdNotifier().listens
    assert SystemdNotifier().alive_every_seconds is None


def test_the_environment_is_read_and_then_kept_from_children(systemd: socket.socket) -> None:
    environment = {
        "NOTIFY_SOCKET": systemd.getsockname(),
        "WATCHDOG_USEC": "180000000",
        "WATCHDOG_PID": str(os.getpid()),
        "PATH": "/bin",
    }
    supervisor = SystemdNotifier.from_environment(environment)

    assert supervisor.alive_every_seconds == 90.0
    assert environment == {"PATH": "/bin"}


@pytest.mark.parametrize("period", ["", "0", "soon", "-1"])
def test_a_watchdog_that_is_not_meant_for_us_is_none(period: str) -> None:
    assert SystemdNotifier.from_environment({"WATCHDOG_USEC": period}).alive_every_seconds is None
    assert SystemdNotifier.from_environment({"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}).alive_every_seconds is None

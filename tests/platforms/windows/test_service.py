"""The agent as a service of Windows, from its installation to its removal."""

from __future__ import annotations

from pathlib import Path

import pytest

from forewarn.testing import open_region
from tests.platforms.windows.wine import Windows
from tests.waiting import until

HOME = "ProgramData/forewarn"


AGENT = r"""
[agent]
endpoint = "ENDPOINT"
name = "web-0"
poll = "0.2s"

[[rule]]
name = "all"
verdict = "prepare-then-approve"

[[step]]
name = "drain"
kind = "command"
system = "windows"
run = 'echo drained>>C:\work.txt'
undo = 'echo back>>C:\work.txt'

[[step]]
name = "not here"
kind = "systemd"
system = "linux"
units = ["worker.service"]
"""


SOURCES = r"""
import winreg
with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SYSTEM\CurrentControlSet\Services\EventLog\Application") as log:
    for place in range(winreg.QueryInfoKey(log)[0]):
        name = winreg.EnumKey(log, place)
        with winreg.OpenKey(log, name) as source:
            try:
                print(name if winreg.QueryValueEx(source, "EventMessageFile")[0] else "")
            except OSError:
                pass
"""
COMMAND = r"""
import winreg
with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SYSTEM\CurrentControlSet\Services\forewarn-agent") as service:
    print(winreg.QueryValueEx(service, "ImagePath")[0])
"""


def lines_of(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def told(home: Path) -> str:
    log = home / "agent.log"
    return log.read_text() if log.exists() else "there is no log"


def registered(windows: Windows) -> set[str]:
    """Our sources of the Event Log that the viewer knows a message file of."""
    found = windows.python("-c", SOURCES).good().split()
    return {name for name in ("forewarn-agent", "AzureScheduledEvents") if name in found}


def command_of(windows: Windows) -> str:
    return windows.python("-c", COMMAND).good()


@pytest.mark.timeout(600)
def test_the_service_is_installed_prepares_approves_restores_and_is_removed(windows: Windows) -> None:
    work, home = windows.on_drive("work.txt"), windows.on_drive(HOME)
    with open_region() as region:
        vm = region.vm("web-0")
        planned = windows.forewarn("agent", "install", "--dry-run").good()
        assert "would register service forewarn-agent" in planned
        assert not home.exists()

        windows.forewarn("agent", "install").good()
        assert (home / "agent.toml").read_text().startswith("# What this VM's agent does")
        (home / "agent.toml").write_text(AGENT.replace("ENDPOINT", vm.url))
        assert "is good: 1 rule, 1 step" in windows.forewarn("agent", "check").good()
        windows.forewarn("agent", "install", "--enable").good()

        event = region.restart("web-0")
        until(lambda: lines_of(work) == ["drained"], "the step was done", lambda: told(home))
        until(lambda: event.approved_by == "web-0", "it was approved", lambda: told(home))
        region.advance("1h")
        until(lambda: lines_of(work) == ["drained", "back"], "it was undone", lambda: told(home))

        removed = windows.forewarn("agent", "uninstall").good()
    assert "stop service forewarn-agent" in removed
    assert (home / "agent.toml").exists(), "somebody has written in it"
    assert "the service is stopped" in (home / "agent.log").read_text()
    assert "nothing to remove" in windows.forewarn("agent", "uninstall").good()

    planned = windows.forewarn("agent", "install", "--azure-event-log").good()
    assert f"close C:\\{HOME.replace('/', chr(92))}" in planned, "it was there before"
    assert registered(windows) == {"forewarn-agent", "AzureScheduledEvents"}
    assert "agent run --service --azure-event-log --config" in command_of(windows)
    windows.forewarn("agent", "uninstall").good()
    assert registered(windows) == set()

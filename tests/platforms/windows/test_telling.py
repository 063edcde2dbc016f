"""What the agent asks of Windows' DHCP client, and what it writes to the Event Log."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from requirements.windows import COMPILER

from tests.platforms.windows.wine import Windows

# Gives the machine these network cards alone, and asks
ASKING = r"""
import sys, winreg
from forewarn.guest.system import DhcpFailed, this_machine
interfaces = winreg.CreateKey(
    winreg.HKEY_LOCAL_MACHINE, "SYSTEM\\CurrentControlSet\\Services\\Tcpip\\Parameters\\Interfaces"
)
while winreg.QueryInfoKey(interfaces)[0]:
    winreg.DeleteKey(interfaces, winreg.EnumKey(interfaces, 0))
for name, by_dhcp in (each.split("=") for each in sys.argv[1:]):
    with winreg.CreateKey(interfaces, name) as card:
        winreg.SetValueEx(card, "EnableDHCP", 0, winreg.REG_DWORD, int(by_dhcp))
try:
    print(this_machine().sockets.ask_dhcp(1))
except DhcpFailed as failed:
    print("failed:", failed)
"""
LOGGING = r"""
import logging, sys
from forewarn.guest.system.windows.event_log import EventLogHandler
log = logging.getLogger("forewarn.agent")
log.setLevel(logging.DEBUG)
log.addHandler(EventLogHandler(azure=sys.argv[1] == "azure"))
log.debug("not told")
log.info("an event has come")
log.warning("a step is late")
log.error("a step failed")
"""
# How wine tells of a call that it takes and keeps nowhere: kind, category, number
REPORTED = re.compile(r"ReportEventW \(\w+,0x(\w{4}),0x\w{4},0x(\w{8})")


@pytest.fixture
def dhcp_client(windows: Windows, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Windows' own is not in wine, which has one of its own that knows other options only."""
    library, place = tmp_path / "dhcpcsvc.dll", windows.on_drive("windows/system32/dhcpcsvc.dll")
    source = Path(__file__).with_name("dhcpcsvc.c")
    subprocess.run([COMPILER, "-Wall", "-Werror", "-shared", "-o", library, source], check=True)
    own = place.read_bytes()
    place.write_bytes(library.read_bytes())
    yield {"WINEDLLOVERRIDES": "mscoree,mshtml=;dhcpcsvc=n"}
    place.write_bytes(own)


def test_windows_dhcp_client_is_asked_for_option_245_card_by_card(
    windows: Windows, dhcp_client: dict[str, str]
) -> None:
    def ask(*cards: str) -> str:
        return windows.python("-c", ASKING, *cards, env=dhcp_client).good().strip()

    assert ask("{card-1}1=1", "{card-2}2=1") == "127.0.0.99"
    assert ask("{card-2}2=0") == "failed: there is no network card that is set up by DHCP"
    assert ask("{card-1}1=1") == "failed: no DHCP server told the address of the metadata service (option 245)"
    assert ask("{card-3}3=1").startswith("failed: DHCP: ")


def test_entries_have_a_number_for_each_level_or_those_of_microsofts_sample(windows: Windows) -> None:
    def reported(how: str) -> tuple[str, list[tuple[int, int]]]:
        told = windows.python("-c", LOGGING, how, env={"WINEDEBUG": "+advapi,+eventlog"}).good()
        return told, [(int(kind, 16), int(number, 16)) for kind, number in REPORTED.findall(told)]

    information, warning, error = 0x4, 0x2, 0x1  # of winnt.h
    told, entries = reported("ours")
    assert 'L"forewarn-agent"' in told
    assert entries == [(information, 1), (warning, 2), (error, 3)]
    assert "an event has come" in told
    assert "not told" not in told
    told, entries = reported("azure")
    assert 'L"AzureScheduledEvents"' in told
    assert entries == [(information, 1234), (warning, 1234), (error, 1234)]

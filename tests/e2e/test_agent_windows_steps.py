"""The steps for Windows as text: what they tell PowerShell and appcmd, for which stand-ins write it down.

Neither runs under wine; that the service manager does what ``service`` asks is seen in tests/platforms/windows.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.steps import KINDS, may_repeat
from forewarn.guest.agent.values import Step
from tests.e2e.test_agent_steps import do, task

STAND_IN = '#!/bin/sh\nfor last; do :; done\necho "$@" >>"$HEARD"\ncase "$last" in $SAY) echo Started;; esac\nexit 0\n'
STRICT = "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue'; "
MANNERS = "-NoProfile -NonInteractive"


@pytest.fixture
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the stand-ins were told, a line each."""
    programs, heard = tmp_path / "bin", tmp_path / "heard"
    programs.mkdir()
    for path in (
        programs / "powershell.exe",
        tmp_path / f"root{chr(92).join(['', 'System32', 'inetsrv', 'appcmd.exe'])}",
    ):
        path.write_text(STAND_IN)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("SYSTEMROOT", str(tmp_path / "root"))
    monkeypatch.setenv("HEARD", str(heard))
    monkeypatch.setenv("SAY", "/text:state")
    return heard


def lines(heard: Path) -> list[str]:
    return heard.read_text().splitlines() if heard.exists() else []


def test_a_line_of_powershell_is_run_strictly_and_a_script_by_its_path(heard: Path, tmp_path: Path) -> None:
    assert do(task(tmp_path, "powershell", run="Stop-Website 'shop'", undo_script="C:\\up.ps1")).good
    assert do(task(tmp_path, "powershell", run="Stop-Website 'shop'", undo_script="C:\\up.ps1", undo=True)).good
    assert lines(heard) == [f"{MANNERS} -Command {STRICT}Stop-Website 'shop'", f"{MANNERS} -File C:\\up.ps1"]
    assert not may_repeat(Step("it", "powershell", {"run": "x"}))


def test_a_line_without_a_reverse_has_nothing_to_undo(heard: Path, tmp_path: Path) -> None:
    assert do(task(tmp_path, "powershell", run="Stop-Website shop", undo=True)) == StepEnd(StepOutcome.DONE)
    assert lines(heard) == []


def test_powershell_needs_a_line_or_a_script_and_not_both() -> None:
    told = [each.message for each in KINDS["powershell"].keys.check({"run": "x", "script": "C:\\y.ps1"})]
    assert told == ["needs run or script, not both"]
    assert [each.message for each in KINDS["powershell"].keys.check({"script": "y.ps1"})] == [
        "has a script that is not an absolute path"
    ]


def test_pools_of_iis_that_ran_are_stopped_and_started_in_reverse(heard: Path, tmp_path: Path) -> None:
    assert do(task(tmp_path, "iis", pools=["shop", "api"])).good
    assert do(task(tmp_path, "iis", pools=["shop", "api"], undo=True)).good
    assert lines(heard) == [
        "list apppool /name:shop /text:state",
        "list apppool /name:api /text:state",
        "stop apppool /apppool.name:shop",
        "stop apppool /apppool.name:api",
        "start apppool /apppool.name:api",
        "start apppool /apppool.name:shop",
    ]


def test_a_pool_that_was_stopped_before_stays_so(heard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAY", "nothing")
    assert do(task(tmp_path, "iis", pools=["shop"])).good
    assert do(task(tmp_path, "iis", pools=["shop"], undo=True)).good
    assert lines(heard) == ["list apppool /name:shop /text:state"]


def test_a_node_of_network_load_balancing_drains_for_the_minutes_there_are(heard: Path, tmp_path: Path) -> None:
    assert do(task(tmp_path, "nlb", seconds=301, interface="Card 'A'")).good
    assert do(task(tmp_path, "nlb", interface="Card 'A'", undo=True)).good
    here = "-HostName $env:COMPUTERNAME -InterfaceName 'Card ''A'''"
    assert lines(heard) == [
        f"{MANNERS} -Command {STRICT}if ((Get-NlbClusterNode {here}).State.ToString() -eq 'Stopped') {{ exit 1 }}",
        f"{MANNERS} -Command {STRICT}Stop-NlbClusterNode {here} -Drain -Timeout 5",
        f"{MANNERS} -Command {STRICT}Start-NlbClusterNode {here}",
    ]


def test_a_node_of_a_failover_cluster_is_drained_and_comes_back_with_its_roles(heard: Path, tmp_path: Path) -> None:
    assert do(task(tmp_path, "cluster", node="sql-1")).good
    assert do(task(tmp_path, "cluster", node="sql-1", undo=True)).good
    assert lines(heard)[1:] == [
        f"{MANNERS} -Command {STRICT}Suspend-ClusterNode -Name 'sql-1' -Drain -Wait",
        f"{MANNERS} -Command {STRICT}Resume-ClusterNode -Name 'sql-1' -Failback Immediate",
    ]

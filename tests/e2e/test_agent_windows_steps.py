"""The steps for Windows as text: what they tell PowerShell and appcmd, for which stand-ins write it down.

Neither runs under wine; that the service manager does what ``service`` asks is seen in tests/platforms/windows.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.steps import KINDS, may_repeat
from forewarn.guest.agent.values import Step
from tests.e2e.test_agent_steps import do, task

# PowerShell: the state of a node is in a file, and `broken` there makes every cmdlet fail. Of a failover cluster's node
# there is also how its drain goes, a line for each look. Of Network Load Balancing there is a line for each node of the
# cluster, as Get-NlbClusterNode lists them, and this one is web-0
POWERSHELL = r"""#!/bin/sh
for line; do :; done
echo "$*" >>"$HEARD"
[ ! -e "$AT/broken" ] || { echo "Get-ClusterNode is not recognized"; exit 1; }
echo "WARNING: some cmdlets do not work remotely."
is_this="Where-Object { (\$_.Name -split '\.')[0] -eq \$env:COMPUTERNAME }"
case "$line" in
*Get-NlbClusterNode*) ;;
*DrainStatus*)
  [ ! -e "$AT/drain" ] || { drain=$(head -n 1 "$AT/drain"); sed -i '1{$!d}' "$AT/drain"; }
  echo "state=$(cat "$AT/node") ${drain-NotInitiated}"; exit;;
*"'state='"*) [ ! -e "$AT/node" ] || sed s/^/state=/ "$AT/node"; exit;;
*) exit;;
esac
[ -e "$AT/nlb" ] || exit 0
case "$line" in *"$is_this"*) this='^web-0[. ]';; *) this=;; esac
found=$(grep -i "$this" "$AT/nlb" | sed 's/.* //')
case "$line" in *"'state='"*) echo "$found" | sed -n s/./state=\&/p; exit;; esac
unless=${line#*-notmatch \'}
echo "$found" | grep -qviE "${unless%%\'*}" || exit 0
case "$line" in *Stop-Nlb*) is=Stopped;; *) is=Converged;; esac
sed -i "s/^\(web-0[^ ]*\) .*/\1 $is/I" "$AT/nlb"
"""
# appcmd: the state of each pool is in a file, a line for each look until the last; what is so already is a fault to it,
# and a pool that is not there none
APPCMD = """#!/bin/sh
echo "$*" >>"$HEARD"
[ ! -e "$AT/broken" ] || { echo "ERROR ( message:Configuration error )"; exit 1; }
case "$1" in
list) at="$AT/pool-${3#/name:}"; [ ! -e "$at" ] || { head -n 1 "$at"; sed -i '1{$!d}' "$at"; }; exit 0;;
stop) is=Stopped;;
start) is=Started;;
esac
name=${3#/apppool.name:}
[ ! -e "$AT/stuck-$name" ] || { echo "ERROR ( message:Cannot complete )"; exit 1; }
case "$(cat "$AT/pool-$name")" in $is|Stopping*) echo "ERROR ( hresult:80070426 )"; exit 1;; esac
echo $is >"$AT/pool-$name"
"""
# In the place of the interpreter that asks the service manager: of each service, whether it runs is in a file
SERVICES = """#!/bin/sh
shift 3
echo "$*" >>"$HEARD"
[ ! -e "$AT/broken" ] || { echo "$2: Access is denied."; exit 1; }
[ -e "$AT/service-$2" ] || { echo "$2: The specified service does not exist as an installed service."; exit 1; }
case "$1" in
running) [ "$(cat "$AT/service-$2")" != on ] || echo "$2";;
stop) echo off >"$AT/service-$2";;
start) echo on >"$AT/service-$2";;
esac
"""
STRICT = "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue'; "
MANNERS = "-NoProfile -NonInteractive"
APPCMD_PLACE = "root\\System32\\inetsrv\\appcmd.exe"  # one name on Linux


@pytest.fixture
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the stand-ins were told, a line each."""
    programs, heard = tmp_path / "bin", tmp_path / "heard"
    programs.mkdir()
    for path, script in (
        (programs / "powershell.exe", POWERSHELL),
        (programs / "python", SERVICES),
        (tmp_path / APPCMD_PLACE, APPCMD),
    ):
        path.write_text(script)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "_base_executable", str(programs / "python"))
    monkeypatch.setenv("SYSTEMROOT", str(tmp_path / "root"))
    monkeypatch.setenv("HEARD", str(heard))
    monkeypatch.setenv("AT", str(tmp_path))
    return heard


def say(directory: Path, **states: str) -> None:
    """Of nodes, pools and services, in which state they are."""
    for name, state in states.items():
        (directory / name.replace("_", "-")).write_text(f"{state}\n")


def state(directory: Path, name: str) -> str:
    return (directory / name).read_text().strip()


def deeds(heard: Path) -> list[str]:
    """What they were told, without the looks."""
    looks = ("list ", "running ")
    return [line for line in lines(heard) if not line.startswith(looks) and "'state='" not in line]


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
    say(tmp_path, pool_shop="Started", pool_api="Started")
    assert do(task(tmp_path, "iis", pools=["shop", "api"])).good
    assert do(task(tmp_path, "iis", pools=["shop", "api"], undo=True)).good
    assert lines(heard)[:2] == ["list apppool /name:shop /text:state", "list apppool /name:api /text:state"]
    assert deeds(heard) == [
        "stop apppool /apppool.name:shop",
        "stop apppool /apppool.name:api",
        "start apppool /apppool.name:api",
        "start apppool /apppool.name:shop",
    ]


def test_a_pool_that_was_stopped_before_stays_so(heard: Path, tmp_path: Path) -> None:
    say(tmp_path, pool_shop="Stopped")
    assert do(task(tmp_path, "iis", pools=["shop"])).good
    assert do(task(tmp_path, "iis", pools=["shop"], undo=True)).good
    assert deeds(heard) == []


@pytest.mark.parametrize("met", ["Starting", "Unknown"])
def test_a_pool_in_any_other_state_is_stopped(heard: Path, tmp_path: Path, met: str) -> None:
    say(tmp_path, pool_shop=met)
    assert do(task(tmp_path, "iis", pools=["shop"])).good
    assert state(tmp_path, "pool-shop") == "Stopped"
    assert do(task(tmp_path, "iis", pools=["shop"], undo=True)).good
    assert state(tmp_path, "pool-shop") == "Started"


def test_a_step_that_failed_when_some_pools_were_stopped_goes_on_with_the_others(heard: Path, tmp_path: Path) -> None:
    """To appcmd, stopping a pool that is stopped is a fault."""
    say(tmp_path, pool_shop="Started", pool_api="Started", stuck_api="")
    assert do(task(tmp_path, "iis", pools=["shop", "api"])).outcome is StepOutcome.FAILED
    (tmp_path / "stuck-api").unlink()
    assert do(task(tmp_path, "iis", pools=["shop", "api"])).good
    assert [state(tmp_path, f"pool-{name}") for name in ("shop", "api")] == ["Stopped", "Stopped"]
    assert do(task(tmp_path, "iis", pools=["shop", "api"], undo=True)).good
    assert [state(tmp_path, f"pool-{name}") for name in ("shop", "api")] == ["Started", "Started"]


def test_a_pool_that_runs_already_does_not_keep_others_from_starting(heard: Path, tmp_path: Path) -> None:
    """It could not be stopped, or has come up with the boot. To appcmd, starting it is a fault."""
    say(tmp_path, pool_shop="Started", pool_api="Started", stuck_api="")
    assert not do(task(tmp_path, "iis", pools=["shop", "api"])).good
    (tmp_path / "stuck-api").unlink()
    assert do(task(tmp_path, "iis", pools=["shop", "api"], undo=True)).good
    assert [state(tmp_path, f"pool-{name}") for name in ("shop", "api")] == ["Started", "Started"]


@pytest.mark.parametrize("met", ["Stopping", "Started"])
def test_a_pool_that_still_stops_is_waited_for_and_not_stopped_twice(heard: Path, tmp_path: Path, met: str) -> None:
    """It was being stopped by a person, or by an agent that ended then. To appcmd, stopping it is a fault."""
    say(tmp_path, pool_shop=f"{met}\nStopping\nStopped")  # when it is noted, and then
    assert do(task(tmp_path, "iis", pools=["shop"])) == StepEnd(StepOutcome.DONE)
    assert deeds(heard) == []
    say(tmp_path, pool_shop="Stopping\nStopped")
    assert do(task(tmp_path, "iis", pools=["shop"], undo=True)).good
    assert state(tmp_path, "pool-shop") == ("Started" if met == "Started" else "Stopping\nStopped")


def test_a_pool_that_stops_for_longer_than_there_is_time_is_said(heard: Path, tmp_path: Path) -> None:
    say(tmp_path, pool_shop="Stopping")
    ended = do(task(tmp_path, "iis", seconds=1, pools=["shop"]))
    assert (ended.outcome, deeds(heard)) == (StepOutcome.TIMED_OUT, [])
    assert ended.detail.endswith(": still Stopping")


THIS = "Where-Object { ($_.Name -split '\\.')[0] -eq $env:COMPUTERNAME }"


def nlb(command: str, card: str, unless: str) -> str:
    here, others = f"Get-NlbClusterNode {card} | {THIS}", f"$here | Where-Object {{ $_.State -notmatch '{unless}' }}"
    return f"{MANNERS} -Command {STRICT}$here = @({here}); if ($here.Count -eq 0 -or ({others})) {{ {command} }}"


def test_a_node_of_network_load_balancing_drains_for_the_minutes_there_are(heard: Path, tmp_path: Path) -> None:
    say(tmp_path, nlb="web-0 Converged")
    assert do(task(tmp_path, "nlb", seconds=301, interface="Card 'A'")).good
    assert do(task(tmp_path, "nlb", interface="Card 'A'", undo=True)).good
    here = "-HostName $env:COMPUTERNAME -InterfaceName 'Card ''A'''"
    assert lines(heard) == [
        f"{MANNERS} -Command {STRICT}Get-NlbClusterNode {here} | {THIS} | ForEach-Object {{ 'state=' + $_.State }}",
        nlb(f"Stop-NlbClusterNode {here} -Drain -Timeout 5", here, "^(stopped|suspended)"),
        nlb(f"Start-NlbClusterNode {here}", here, "^(converging|converged)"),
    ]


@pytest.mark.parametrize("met", ["Stopped", "Suspended"])
def test_a_node_of_network_load_balancing_that_takes_nothing_stays_so(heard: Path, tmp_path: Path, met: str) -> None:
    """Whatever its peers do: who took it out puts it back."""
    say(tmp_path, nlb=f"web-0 {met}\nweb-1 Converged(default)\nweb-00 Converged")
    assert do(task(tmp_path, "nlb")).good
    assert do(task(tmp_path, "nlb", undo=True)).good
    assert deeds(heard) == []


@pytest.mark.parametrize("met", ["Converged", "Converged(default)", "Converging", "Draining"])
@pytest.mark.parametrize("peer", ["Stopped", "Converged(default)"])
@pytest.mark.parametrize("name", ["WEB-0", "web-0.shop.test"])
def test_a_node_of_network_load_balancing_is_taken_out_and_put_back_whatever_its_peers_do(
    heard: Path, tmp_path: Path, name: str, peer: str, met: str
) -> None:
    say(tmp_path, nlb=f"web-1 {peer}\n{name} {met}")
    assert do(task(tmp_path, "nlb")).good
    assert state(tmp_path, "nlb") == f"web-1 {peer}\n{name} Stopped"
    assert do(task(tmp_path, "nlb", undo=True)).good
    assert state(tmp_path, "nlb") == f"web-1 {peer}\n{name} Converged"


def test_a_node_of_network_load_balancing_that_came_up_by_itself_is_not_started(heard: Path, tmp_path: Path) -> None:
    say(tmp_path, nlb="web-0 Converged\nweb-1 Stopped")
    assert do(task(tmp_path, "nlb")).good
    say(tmp_path, nlb="web-0 Converged(default)\nweb-1 Stopped")
    assert do(task(tmp_path, "nlb", undo=True)).good
    assert state(tmp_path, "nlb") == "web-0 Converged(default)\nweb-1 Stopped"


def test_a_node_of_a_failover_cluster_is_drained_and_comes_back_with_its_roles(heard: Path, tmp_path: Path) -> None:
    say(tmp_path, node="Up")
    assert do(task(tmp_path, "cluster", node="sql-1")).good
    assert do(task(tmp_path, "cluster", node="sql-1", undo=True)).good
    sees, resume = (
        "Get-ClusterNode -Name 'sql-1' | ForEach-Object { ",
        "Resume-ClusterNode -Name 'sql-1' -Failback Immediate",
    )
    assert lines(heard) == [
        f"{MANNERS} -Command {STRICT}{sees}'state=' + $_.State }}",
        f"{MANNERS} -Command {STRICT}{sees}'state=' + ($_.State, $_.DrainStatus -join ' ') }}",
        f"{MANNERS} -Command {STRICT}Suspend-ClusterNode -Name 'sql-1' -Drain -Wait",
        f"{MANNERS} -Command {STRICT}if (-not ((Get-ClusterNode -Name 'sql-1').State -eq 'Up')) {{ {resume} }}",
    ]


@pytest.mark.parametrize("met", ["Paused", "Down"])
def test_a_node_of_a_failover_cluster_that_has_no_roles_stays_so(heard: Path, tmp_path: Path, met: str) -> None:
    say(tmp_path, node=met)
    assert do(task(tmp_path, "cluster")).good
    assert do(task(tmp_path, "cluster", undo=True)).good
    assert deeds(heard) == []


@pytest.mark.parametrize("met", ["Joining", "Unknown"])
def test_a_node_of_a_failover_cluster_in_any_other_state_is_drained(heard: Path, tmp_path: Path, met: str) -> None:
    say(tmp_path, node=met)
    assert do(task(tmp_path, "cluster")).good
    assert len(deeds(heard)) == 1


@pytest.mark.parametrize(
    ("drain", "seconds", "ends", "more"),
    [
        ("Completed", 30, StepOutcome.DONE, 0),
        ("InProgress\nCompleted", 30, StepOutcome.DONE, 0),
        ("InProgress", 1, StepOutcome.TIMED_OUT, 0),
        ("InProgress\nFailed", 30, StepOutcome.DONE, 1),  # its roles are still there: that must not pass for done
        ("NotInitiated", 30, StepOutcome.DONE, 1),
    ],
)
def test_a_drain_of_a_failover_cluster_that_outlived_its_agent_is_waited_for(
    heard: Path, tmp_path: Path, drain: str, seconds: float, ends: StepOutcome, more: int
) -> None:
    """The node is paused and its note stands. To the cluster, suspending it again may be a fault."""
    say(tmp_path, node="Up", drain="NotInitiated")
    assert do(task(tmp_path, "cluster")).good
    say(tmp_path, node="Paused", drain=drain)
    ended = do(task(tmp_path, "cluster", seconds=seconds))
    assert (ended.outcome, len(deeds(heard))) == (ends, 1 + more)
    assert ended.good or ended.detail.endswith(": still paused inprogress")
    assert state(tmp_path, "drain") == drain.splitlines()[-1]
    assert do(task(tmp_path, "cluster", undo=True)).good
    assert len(deeds(heard)) == 2 + more


def test_services_that_ran_are_stopped_and_started_in_reverse(heard: Path, tmp_path: Path) -> None:
    say(tmp_path, service_a="on", service_idle="off", service_b="on")
    assert do(task(tmp_path, "service", services=["a", "idle", "b"])).good
    assert do(task(tmp_path, "service", services=["a", "idle", "b"], undo=True)).good
    assert deeds(heard) == ["stop a", "stop b", "start b", "start a"]


# A look that fails says nothing about what runs

LOOKS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {  # a step's settings, and what its machine holds
    "service": ({"services": ["shop"]}, {"service_shop": "on"}),
    "iis": ({"pools": ["shop"]}, {"pool_shop": "Started"}),
    "nlb": ({}, {"nlb": "web-0 Converged"}),
    "cluster": ({"node": "sql-1"}, {"node": "Up"}),
}


def notes(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("runs/*") if not path.name.startswith("run-"))


@pytest.mark.parametrize("kind", LOOKS)
def test_a_step_whose_look_fails_has_failed_and_the_next_try_stops_what_runs(
    heard: Path, tmp_path: Path, kind: str
) -> None:
    settings, there = LOOKS[kind]
    say(tmp_path, broken="", **there)
    ended = do(task(tmp_path, kind, **settings))
    assert ended.outcome is StepOutcome.FAILED
    assert "run cannot be seen, and none was stopped: ended with status 1: " in ended.detail
    assert (deeds(heard), notes(tmp_path)) == ([], [])

    (tmp_path / "broken").unlink()
    assert do(task(tmp_path, kind, **settings)).good
    assert len(deeds(heard)) == 1
    assert do(task(tmp_path, kind, undo=True, **settings)).good
    assert (len(deeds(heard)), notes(tmp_path)) == (2, [])


@pytest.mark.parametrize("kind", LOOKS)
def test_a_step_whose_look_failed_has_nothing_to_undo(heard: Path, tmp_path: Path, kind: str) -> None:
    settings, there = LOOKS[kind]
    say(tmp_path, broken="", **there)
    assert not do(task(tmp_path, kind, **settings)).good
    (tmp_path / "broken").unlink()
    assert do(task(tmp_path, kind, undo=True, **settings)).good
    assert deeds(heard) == []


@pytest.mark.parametrize("kind", LOOKS)
def test_a_step_whose_program_is_not_there_has_failed(
    heard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    settings, there = LOOKS[kind]
    say(tmp_path, **there)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("SYSTEMROOT", "/nowhere")
    monkeypatch.setattr(sys, "_base_executable", "/nowhere/python")
    ended = do(task(tmp_path, kind, **settings))
    assert ended.outcome is StepOutcome.FAILED
    assert "run cannot be seen, and none was stopped: " in ended.detail
    assert notes(tmp_path) == []


@pytest.mark.parametrize(
    ("kind", "settings", "told"),
    [
        ("service", {"services": ["shop", "shpo"]}, "shpo: The specified service does not exist"),
        ("iis", {"pools": ["shop", "shpo"]}, "appcmd tells no state of the pool shpo"),
        ("nlb", {}, "Get-NlbClusterNode tells no state"),  # of this node; of another it does
        ("cluster", {}, "Get-ClusterNode tells no state"),
    ],
)
def test_a_name_that_is_not_there_fails_before_anything_is_stopped(
    heard: Path, tmp_path: Path, kind: str, settings: dict[str, Any], told: str
) -> None:
    say(tmp_path, service_shop="on", pool_shop="Started", nlb="web-1 Converged")
    ended = do(task(tmp_path, kind, **settings))
    assert ended.outcome is StepOutcome.FAILED
    assert told in ended.detail
    assert (deeds(heard), notes(tmp_path)) == ([], [])


@pytest.mark.parametrize("kind", LOOKS)
def test_a_look_that_has_no_time_ends_the_step_as_one_without_time(heard: Path, tmp_path: Path, kind: str) -> None:
    settings, there = LOOKS[kind]
    say(tmp_path, **there)
    assert do(task(tmp_path, kind, seconds=0, **settings)).outcome is StepOutcome.TIMED_OUT
    assert notes(tmp_path) == []
    assert do(task(tmp_path, kind, **settings)).good
    assert len(deeds(heard)) == 1

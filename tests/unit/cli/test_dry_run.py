"""``--dry-run``: what a command would do, printed; nothing is done."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from forewarn.cli.main import build_parser

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run

COMMANDS = [
    ["vm", "restart", "web-0"],
    ["vm", "redeploy", "web-0"],
    ["vm", "reimage", "web-0"],
    ["vm", "stop", "web-0"],
    ["vm", "deallocate", "web-0"],
    ["vm", "start", "down"],
    ["vm", "delete", "web-0"],
    ["vm", "evict", "cheap"],
    ["vmss", "create", "new"],
    ["vmss", "scale", "set", "5"],
    ["vmss", "update", "set", "--terminate-notice", "5m"],
    ["vmss", "delete", "set"],
    ["vmss", "delete-instances", "set", "0"],
    ["vmss", "update-instances", "set"],
    ["vmss", "restart", "set"],
    ["vmss", "redeploy", "set"],
    ["vmss", "reimage", "set"],
    ["vmss", "deallocate", "set"],
    ["vmss", "stop", "set"],
    ["vmss", "start", "set"],
    ["vmss", "protect", "set", "0"],
    ["host", "maintain", "host-0"],
    ["host", "fail", "host-0"],
    ["campaign", "start"],
    ["campaign", "pause", "CAMPAIGN"],
    ["campaign", "resume", "CAMPAIGN"],
    ["campaign", "cancel", "CAMPAIGN"],
    ["event", "approve", "EVENT"],
    ["event", "cancel", "EVENT"],
]

OF_MACHINES = [  # tried over a platform in test_machines.py
    ["host", "add", "rack-2"],
    ["host", "remove", "rack-1"],
    ["host", "drain", "rack-2"],
    ["host", "resume", "rack-2"],
    ["host", "confirm-lost", "rack-2"],
    ["machine", "adopt", "rack-1/db"],
    ["machine", "release", "shop"],
]


def commands(parser: argparse.ArgumentParser, *names: str) -> Iterator[list[str]]:
    """The commands beneath a parser that ask a server and take --dry-run."""
    if {"--dry-run", "--url"} <= parser._option_string_actions.keys():
        yield list(names)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, each in action.choices.items():
                yield from commands(each, *names, name)


def test_every_command_with_a_dry_run_option_is_tried_here() -> None:
    assert sorted(commands(build_parser())) == sorted(command[:2] for command in (*COMMANDS, *OF_MACHINES))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_dry_run_changes_nothing_and_says_that_it_is_one(run: Run, region: Region, command: list[str]) -> None:
    run("vm", "create", "web", "--count", "3", "--availability-set", "front", "--read")
    run("vm", "create", "cheap", "--spot", "--read")
    run("vm", "create", "down")
    run("vm", "stop", "down")
    run("vmss", "create", "set")
    event = run("vm", "restart", "web-1", "--json").json["events"][0]["id"]
    campaign = run("campaign", "start", "--json").json["id"]
    if "resume" in command:
        run("campaign", "pause", campaign)
    typed = [word.replace("EVENT", event).replace("CAMPAIGN", campaign) for word in command]
    before = region.plane.region, region.plane.seq

    shown, told = run(*typed, "--dry-run"), run(*typed, "--dry-run", "--json")

    assert before == (region.plane.region, region.plane.seq)
    assert (shown.status, shown.err, told.status, told.err) == (0, "", 0, "")
    assert shown.lines[0] == "Dry run, nothing was changed. The answer would be:"
    assert len(shown.lines) > 1
    assert told.json["dry_run"] is True


def test_a_new_event_is_shown_without_an_id_and_without_a_command_that_needs_one(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--read")

    shown = run("vm", "restart", "web", "--dry-run")

    assert shown.lines[1] == "Reboot  scheduled"
    assert "by any VM of vm/web\n" in shown.out
    assert shown.lines[-1] == "1 event scheduled, not before 2026-01-01T12:15:00Z."


def test_a_dry_run_that_is_sent_in_several_requests_changes_nothing(run: Run, region: Region) -> None:
    run("vm", "create", "n", "--count", "5001")

    told = run("vm", "stop", "-", "--dry-run", "--json", stdin=run("vm", "list", "--names").out)

    assert (told.json["dry_run"], len(told.json["at_once"])) == (True, 5001)
    assert {vm.power.value for vm in region.plane.region.vms.values()} == {"running"}


class Old(BaseHTTPRequestHandler):
    """A server of version 0.1: it takes no notice of a query parameter that it does not know."""

    asked: list[str]

    def _answer(self) -> None:
        self.asked.append(f"{self.command} {self.path}")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"name": "forewarn", "version": "0.1.0"}')

    do_GET = do_POST = _answer  # noqa: N815 - as http.server calls them

    def log_message(self, *_: object) -> None:
        pass


def test_a_server_too_old_for_dry_runs_which_would_act_is_not_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Old, "asked", [], raising=False)
    with HTTPServer(("127.0.0.1", 0), Old) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        told = run("vm", "delete", "web", "--dry-run", "--url", f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        serving.join()

    assert Old.asked == ["GET /v1/ping"]
    assert (told.status, told.out) == (1, "")
    assert told.err == "forewarn: the server is of version 0.1, which knows no dry run. Nothing was done.\n"

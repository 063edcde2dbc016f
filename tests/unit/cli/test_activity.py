"""``forewarn activity``: who did what, from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, get_args

from forewarn import __version__
from forewarn.cli.commands.activity import DOORS
from forewarn.core.commands import Approve
from forewarn.plane.ports import Origin
from forewarn.web.operator.schema.requests import Door

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run


def test_each_request_is_a_line_that_says_who_what_whom_and_what_came_of_it(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "5", "--availability-set", "front")
    region.read("web-0")
    run("vm", "restart", "web-0")
    event_id = run("event", "list", "--json").json[0]["id"]
    region.wait(region.plane.submit(Approve((event_id,), "web-1", "availability-set/front"), Origin("vm", "web-1")))

    titles, *lines = run("activity").lines

    assert titles.split() == ["AT", "DOOR", "WHO", "WHAT", "ABOUT", "OUTCOME"]
    cells = [[cell.strip() for cell in line.split("  ") if cell] for line in lines]
    at, me = "2026-01-01T12:00:00Z", f"forewarn/{__version__}"
    assert cells[:4] == [
        [at, "operator", me, "create VMs", "web-0, web-1, web-2 and 2 more", "5 VMs created"],
        [at, "vm", "web-0", "read documents", "availability-set/front", "1 scope enabled"],
        [at, "operator", me, "restart VMs", "web-0", "1 Reboot event scheduled, not before 2026-01-01T12:15:00Z"],
        [at, "vm", "web-1", "approve events", "web-0", "1 Reboot event approved; 1 Reboot event started"],
    ]


def test_a_moved_clock_is_told_as_what_its_mover_did(run: Run, region: Region) -> None:
    run("clock", "advance", "1h")

    (line,) = run("activity", "--json").json

    assert (line["door"], line["text"], line["at"]) == ("operator", "move the clock", "2026-01-01T13:00:00Z")


def test_what_was_done_since_is_counted_back_from_the_regions_clock(run: Run, region: Region) -> None:
    run("vm", "create", "web")
    run("clock", "advance", "5h")
    run("vm", "create", "db")

    def done(*words: str) -> list[list[str]]:
        return [line["about"] for line in run("activity", *words, "--door", "operator", "--json").json]

    assert done("--since", "1h") == [["clock"], ["vm/db"]]
    assert done("--until", "1h") == [["vm/web"]]
    assert done("--since", "2026-01-01T17:00:01Z") == []


def test_lines_can_be_chosen_by_number_door_and_thing(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "2")
    run("vm", "create", "db")
    region.read("web-0")
    run("host", "maintain", "host-0", "--kind", "freeze")

    assert [line["about"] for line in run("activity", "--lines", "1", "--json").json] == [["host/0"]]
    assert [line["who"] for line in run("activity", "--door", "vm", "--json").json] == ["web-0"]
    assert [line["text"] for line in run("activity", "--about", "db", "--json").json] == ["create VMs"]
    assert "host-0" in run("activity", "--about", "host-0").lines[-1]
    assert run("activity", "--door", "window").status == 2


def test_where_nothing_was_done_a_person_is_told_and_a_pipe_stays_clean(run: Run, region: Region) -> None:
    result = run("activity", "--door", "portal")

    assert (result.status, result.out) == (0, "")
    assert "Nobody" in result.err
    assert run("activity", "--json").json == []


def test_what_was_refused_is_not_there_and_the_help_says_so(run: Run, region: Region) -> None:
    run("vm", "restart", "nobody")

    assert run("activity", "--json").json == []
    assert "refused" in run("activity", "--help").out


def test_new_activity_is_followed_as_it_comes(run: Run, region: Region) -> None:
    run("vm", "create", "first")
    command = [sys.executable, "-m", "forewarn.cli.main", "activity", "--follow", "--count", "2", "--json"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        lines = [following.stdout.readline()]
        run("vm", "create", "second", "--count", "10")
        run("vm", "create", "third")
        rest, _ = following.communicate(timeout=30)

    about = [json.loads(line)["about"][0] for line in [*lines, *rest.splitlines()]]
    assert about == ["vm/first", "vm/second-0", "vm/third"]
    assert following.returncode == 0


def test_what_is_followed_can_be_chosen_too(run: Run, region: Region) -> None:
    run("vm", "create", "first")
    command = [sys.executable, "-m", "forewarn.cli.main", "activity", "--follow", "--count", "1", "--door", "vm"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as following:
        assert following.stderr is not None
        assert "Nobody" in following.stderr.readline()
        run("vm", "create", "second")
        region.read("first")
        out, _ = following.communicate(timeout=30)

    assert out == "2026-01-01T12:00:00Z  vm  first  read documents  first  1 scope enabled\n"


def test_a_count_without_following_is_a_usage_error(run: Run, region: Region) -> None:
    assert run("activity", "--count", "3").status == 2


def test_no_server_is_status_3(run: Run, nowhere: str) -> None:
    assert run("activity").status == 3
    assert run("activity", "--follow").status == 3


def test_the_doors_are_those_of_the_api() -> None:
    assert get_args(Door) == DOORS


def test_a_time_can_be_chosen_by_duration_or_instant(run: Run, region: Region) -> None:
    run("vm", "create", "early")
    run("clock", "advance", "3h")
    run("vm", "create", "middle")
    run("clock", "advance", "3h")
    run("vm", "create", "late")

    def about(*span: str) -> list[str]:
        return [line["about"][0] for line in run("activity", "--json", *span).json]

    assert about("--since", "2h") == ["clock", "vm/late"]
    assert about("--since", "4h", "--until", "1h") == ["clock", "vm/middle"]
    assert about("--until", "2026-01-01T14:00:00Z") == ["vm/early"]
    assert about("--since", "2026-01-01T12:00:00Z", "--lines", "2") == ["vm/early", "clock"]


def test_a_time_that_cannot_be_meant_is_refused(run: Run, region: Region) -> None:
    seq = region.plane.seq

    wrong = run("activity", "--since", "yesterday")
    turned = run("activity", "--since", "1h", "--until", "2h")
    followed = run("activity", "--follow", "--until", "0")

    assert (wrong.status, turned.status, followed.status) == (2, 1, 2)
    assert "'yesterday' is neither a duration nor an instant; write 2h or 2030-01-31T12:00:00Z" in wrong.err
    assert "earlier than 'since'" in turned.err
    assert region.plane.seq == seq


def test_a_pipe_gets_every_request_unless_asked_to_fold(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "3")
    region.read("web-0", "web-1", "web-2")

    assert len(run("activity").lines) == 1 + 4
    folded = run("activity", "--fold").lines[-1]
    assert "web-0 and 2 more" in folded
    assert "3x read documents" in folded
    assert "3 scopes enabled" in folded
    assert [line["times"] for line in run("activity", "--fold", "--json").json] == [1, 3]

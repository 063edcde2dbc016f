"""What commands print on terminals of several widths: nothing wraps; a pipe and ``--json`` get everything."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from forewarn.cli import output, terse
from forewarn.cli.main import main

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run

CODES = re.compile(r"\x1b\[\d*[mK]")
WHOLE_ID = re.compile(r"\b[0-9A-F]{8}-[0-9A-F]{4}-")
SHORT_ID = re.compile(r"^[0-9A-F]{8}\b", re.MULTILINE)

FLEET = """
vm create web --count 8 --availability-set front-end-of-the-shop --read
vm create fe --count 3 --cloud-service shop --role FrontEnd --read
vm create database-server-with-a-name-that-is-rather-long --tag purpose=orders --read
vm create batch --spot --read
vm create worker --terminate-notice 5m --read
vmss create pool --capacity 4 --terminate-notice 5m
vm read pool_0
vm restart web-0 fe-1
vm redeploy database-server-with-a-name-that-is-rather-long
vm evict batch
vm delete worker
host maintain --all --kind freeze
campaign start --kind live-migration
campaign start --kind reboot --scope availability-set/front-end-of-the-shop
fault add gone web-0 web-1 --times 3
fault add delay --delay 2s --share 0.25
"""

SHOWN = """
vm list | vm show web-0 fe-1 database-server-with-a-name-that-is-rather-long | host list | host show host-0
machine list | machine list --unadopted | machine adopt a-host-with-a-long-name/and-a-machine-with-one
event list | event list --all | event list --since 1h --until 0 | event show EVENT | event watch --after 0 --count 12
campaign list | campaign show CAMPAIGN | campaign pause CAMPAIGN | campaign resume CAMPAIGN
vmss list | vmss show pool | scope list | scope show availability-set/front-end-of-the-shop
scope policy availability-set/front-end-of-the-shop | fault list | activity | activity --since 1h --no-fold
journal tail --lines 60 | node list | clock show | clock next | settings | settings --running
vm restart web-1 web-2 | vm restart web-3 web-4 web-5 web-6 | event approve EVENT | host maintain host-1 --kind network
vm restart nobody-of-this-name-lives-here-and-so-the-sentence-is-long-enough-for-a-second-line
vm bind web-7 --address 10.0.0.4 | vm stop web-6 | vm start web-6 | journal verify | version | token list
vm create another-database-server-with-a-name-that-is-rather-long-0 and-one-more-with-a-name-that-is-long
"""

Screen = Callable[..., str]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Run a command at a terminal of so many columns; what is on it afterwards."""

    def show(width: int, *words: str) -> str:
        terminal = Terminal()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", terminal)
            patch.setattr(sys, "stderr", terminal)
            patch.setenv("COLUMNS", str(width))
            patch.setenv("TERM", "xterm")
            main(words)
        return CODES.sub("", terminal.getvalue())

    return show


@pytest.fixture
def full(run: Run, region: Region) -> dict[str, str]:
    """A region with all kinds of things in it; an id of an event and of a campaign, as a person would copy them."""
    for line in FLEET.strip().splitlines():
        assert run(*line.split()).status == 0, line
    event = next(each["id"] for each in run("event", "list", "--json").json if each["vms"] == ["web-0"])
    return {"EVENT": event[:8], "CAMPAIGN": run("campaign", "list", "--json").json[0]["id"][:8]}


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_line_of_any_command_is_wider_than_the_terminal(screen: Screen, full: dict[str, str], width: int) -> None:
    for command in re.split(r" \| |\n", SHOWN.strip()):
        shown = screen(width, *(full.get(word, word) for word in shlex.split(command)))

        too_wide = [line for line in shown.splitlines() if len(line) > width]
        assert not too_wide, command
        assert shown.strip(), command


def test_a_screen_shows_short_ids_that_commands_take_and_a_pipe_whole_ones(
    run: Run, screen: Screen, full: dict[str, str]
) -> None:
    for listing in (["event", "list"], ["campaign", "list"]):
        shown, piped = screen(100, *listing), run(*listing)
        short = SHORT_ID.findall(shown)

        assert short
        assert not WHOLE_ID.search(shown)
        assert [each["id"][:8] for each in run(*listing, "--json").json] == short
        assert all(WHOLE_ID.match(line) for line in piped.lines[1:])
        assert short[0] in screen(100, listing[0], "show", short[0])


def test_times_have_one_form_in_a_table_on_a_screen_and_all_of_it_in_a_pipe(
    run: Run, screen: Screen, full: dict[str, str]
) -> None:
    assert "in 15 min" in screen(80, "event", "list")
    assert "2026" not in screen(80, "event", "list") + screen(80, "activity") + screen(80, "scope", "list")
    assert "2026-01-01T12:15:00Z (in 15 min)" in run("event", "list").out
    assert "2026-01-01T12:00:00Z" in run("activity").out


def test_prose_is_broken_between_words(screen: Screen, full: dict[str, str]) -> None:
    told = screen(80, "vm", "delete", "web-0", "web-1", "web-2")
    words = "only a VM with a terminate notice, where scheduled events are read, is warned"

    assert words in " ".join(told.split())
    assert len(told.splitlines()) > 1


def test_ids_that_begin_alike_are_shown_as_far_as_they_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    out = output.Output()
    alike = ["4CAEA225-A741-474D-A72E-428C86FCD853", "4CAEA225-A741-574D-A72E-428C86FCD853"]

    assert [*map(terse.ids(out, alike), alike)] == ["4CAEA225-A741-4", "4CAEA225-A741-5"]
    assert [*map(terse.ids(out, alike[:1]), alike[:1])] == ["4CAEA225"]


def test_a_long_scope_keeps_the_end_of_its_name(screen: Screen, full: dict[str, str]) -> None:
    assert "…ont-end-of-the-shop" in screen(80, "scope", "list")


@pytest.mark.parametrize("width", [20, 40])
def test_even_a_very_narrow_terminal_gets_lines_that_fit(screen: Screen, full: dict[str, str], width: int) -> None:
    for listing in ("vm list", "event list", "activity", "host list", "settings"):
        assert all(len(line) <= width for line in screen(width, *listing.split()).splitlines()), listing

"""``forewarn forecast``: what will happen if nobody acts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run


def test_a_forecast_says_when_nothing_will_happen(run: Run, region: Region) -> None:
    assert run("forecast").err == "Nothing will happen by itself until 2026-01-02T12:00:00Z.\n"


def test_an_event_is_told_step_by_step(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--read")
    event = run("vm", "restart", "web", "--json").json["events"][0]["id"]

    shown = run("forecast", "--event", event)

    assert [line.split()[0] for line in shown.lines[1:]] == [
        "2026-01-01T12:15:00Z",
        "2026-01-01T12:15:00Z",
        "2026-01-01T12:15:30Z",
        "2026-01-01T12:16:00Z",
    ]
    assert shown.lines[1].split()[1:] == ["in", "15", "min", "Reboot", "web", "Started."]
    assert run("forecast", "--event", event, "--json").json["facts"][0]["event"] == event


@pytest.mark.parametrize(
    ("until", "found"), [("14m", 0), ("15m", 2), ("2026-01-01T12:15:30Z", 3), ("1d", 5), ("8d", 5)]
)
def test_a_forecast_looks_as_far_as_it_is_told(run: Run, region: Region, until: str, found: int) -> None:
    run("vm", "create", "web", "--read")
    run("vm", "restart", "web")
    assert len(run("forecast", "--until", until, "--json").json["facts"]) == found


def test_a_forecast_says_where_it_was_cut(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "501", "--read")
    shown = run("forecast")
    assert shown.err == "Not all is told from 2026-01-02T12:00:00Z on; ask for one --vm, --scope or --event.\n"
    assert len(run("forecast", "--scope", "vm/web-500", "--json").json["facts"]) == 1


def test_a_forecast_of_something_unknown_is_refused(run: Run, region: Region) -> None:
    refused = run("forecast", "--vm", "nobody")
    assert (refused.status, refused.out) == (4, "")
    assert "There is no VM named 'nobody'" in refused.err

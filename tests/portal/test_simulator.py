"""A record of the simulator is read and drawn in the browser, and stays there."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.portal.browser import keep_shot
from tests.portal.conftest import Visit

_AT = "2026-03-02T00:{:02}:00Z"
_EVENT = {"id": "E", "cause": "user-restart", "vms": ["<img src=x>"], "not_before": _AT.format(15)}
_RECORD = (
    {"forewarn-sim": 1, "version": "0.2.0", "plan": {"seed": 7, "vms": 2, "days": 1}},
    {"t": 60, "seq": 1, "by": ["", ""], "fact": {"fact": "EventScheduled", "at": _AT.format(1), "event": _EVENT}},
    {"t": 120, "fault": {"kind": "crash", "what": "the agent of web-0 was killed", "seconds": 60}},
    {"t": 180, "seq": 2, "by": ["", ""], "fact": {"fact": "EventStarted", "at": _AT.format(3), "event_id": "E"}},
    {"t": 180, "seq": 3, "by": ["", ""], "fact": {"fact": "ImpactBegan", "at": _AT.format(3), "event_id": "E"}},
    {"t": 240, "seq": 4, "by": ["", ""], "fact": {"fact": "ImpactEnded", "at": _AT.format(4), "event_id": "E"}},
    {"t": 300, "seq": 5, "by": ["", ""], "fact": {"fact": "EventCompleted", "at": _AT.format(5), "event_id": "E"}},
)


def test_a_record_is_drawn_and_nothing_of_it_leaves_the_browser(visit: Visit, tmp_path: Path) -> None:
    record, other = tmp_path / "day.jsonl", tmp_path / "other.txt"
    record.write_text("".join(f"{json.dumps(line)}\n" for line in _RECORD))
    other.write_text("nothing of that kind\n")
    with visit() as somebody:
        page = somebody.open("/portal/simulator")
        page.locator("#field-record").set_input_files(other)
        expect(page.locator("#record-error")).to_be_visible()
        watch = somebody.watches[0]
        asked = len(watch.requests)

        page.locator("#field-record").set_input_files(record)

        expect(page.locator("#record-told")).to_contain_text("Seed 7, 2 VMs, 1 days.")
        rows = page.locator("#record tbody tr")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("user-restart <img src=x>")
        expect(rows.first).to_contain_text("completed")
        assert rows.first.locator("rect").count() == 3
        page.locator("#field-part").fill("agent")
        expect(rows).to_have_count(1)
        expect(page.locator("#record-error")).to_be_hidden()
        # A hint of the stream may come at any time: then the page asks for its own parts, by its own address.
        # The last of its static files (an icon) may be late, too.
        later = [url for url in watch.requests[asked:] if url != page.url]
        assert [url for url in later if "/portal/static/" not in url or "?" in url] == []
        assert not watch.bodies
        keep_shot(page, "simulator")

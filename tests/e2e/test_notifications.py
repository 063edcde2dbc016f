"""A running server tells a receiver of what should not stay so."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.program import EVENTS, ServerProgram, ask, run
from tests.figures import figures
from tests.receiving import Room, serving
from tests.waiting import until


def test_a_vm_that_misses_its_deadline_is_told_to_a_webhook_that_is_away_at_first(tmp_path: Path) -> None:
    with serving(Room("")) as room:
        room.gate.set()
        room.answers = [503]
        config = tmp_path / "region.toml"
        (tmp_path / "address").write_text(f"{room.url}/hooks/sesame\n")
        config.write_text(
            '[settings]\nname = "west"\nclock = "virtual"\n[[vm]]\nname = "web"\n'
            '[[notification]]\nkind = "webhook"\nurl_file = "address"\non = ["deadline-missed"]\n'
        )
        assert "1 notification" in run("settings", "--check", config).stdout
        with ServerProgram.start(tmp_path / "data", "--config", config) as server:
            assert ask(server.metadata, f"/vm/web{EVENTS}").status == 200
            run("vm", "restart", "web", "--url", server.control)
            run("clock", "advance", "16m", "--url", server.control)
            until(lambda: len(room.heard) == 2, "the second try")
            sent = ("forewarn_notifications_total", "webhook", "sent")
            until(lambda: figures(ask(server.control, "/metrics").body.decode())[sent] == 1, "one that was sent")
        (first, told) = room.told
        assert first == told
        assert told["text"].startswith("region west: an event started unapproved: Reboot ")
        assert told["about"][0].endswith(" of web")
        assert "sesame" not in server.log.read_text()

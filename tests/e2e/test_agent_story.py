"""One event from its announcement to its end, as the log and those who are told of it hear it."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.e2e.agents import AgentProgram, Wire, agents, run_out, step, toml, watch
from tests.e2e.metadata_region import metadata_region

# Instants, seconds and ids stand for themselves; everything else is as it is read.
STORY = """\
info: without steps: type Freeze, shorter than 30 s: approved at once (rule 'short freezes', built in)
info: asking http://HOST/vm/web-0
info: this VM is web-0
info: Reboot is announced, not before INSTANT, for web-0: DESCRIPTION [ID]
info: prepare-then-approve, since rule 'reboots' asks for type Reboot [ID]
info: preparing for Reboot [ID]
info: doing step 'a', which has N s [ID]
info: step 'a' is done [ID]
info: prepared for Reboot [ID]
info: approving Reboot [ID]
info: the service has taken the approval of Reboot, which starts when nobody else's is awaited [ID]
info: the approval of Reboot was heard [ID]
info: Reboot has started [ID]
info: Reboot is over (completed): it had started, and what has started is not canceled [ID]
info: undoing step 'a', which has N s [ID]
info: undoing step 'a' is done [ID]
info: ending: heard SIGTERM
"""


class Hook:
    """Where a webhook leads: keeps what it is told, in order."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self._heard = threading.Condition()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with hook._heard:
                    hook.told.append(json.loads(body))
                    hook._heard.notify_all()
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @contextmanager
    def open(self) -> Iterator[str]:
        thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        finally:
            self.server.shutdown()
            thread.join()
            self.server.server_close()

    def until(self, occasion: str) -> None:
        with self._heard:
            assert self._heard.wait_for(lambda: occasion in [each["occasion"] for each in self.told], 60)


def _plain(log: str) -> list[str]:
    """The log without what differs from run to run."""
    lines = []
    for line in log.splitlines():
        text = re.sub(r"^\S+Z ", "", line)
        text = re.sub(r"not before \S+Z", "not before INSTANT", text)
        text = text.replace("Virtual machine is going to be restarted as requested by authorized user.", "DESCRIPTION")
        text = re.sub(r"has \d+ s", "has N s", text)
        text = re.sub(r"\[[0-9A-F]{8}\]$", "[ID]", text)
        lines.append(re.sub(r"//127\.0\.0\.1:\d+", "//HOST", text))
    return lines


def test_a_whole_life_is_told_in_the_order_in_which_it_happened(tmp_path: Path) -> None:
    wire, hook = Wire(tmp_path / "wire"), Hook()
    with metadata_region() as region, hook.open() as url:
        region.create("web-0")
        region.get("web-0")
        rules = """
[[rule]]
name = "reboots"
types = ["Reboot"]
verdict = "prepare-then-approve"

[[rule]]
name = "users"
sources = ["User"]
verdict = "prepare-then-approve"
"""
        told = f'[[notification]]\nkind = "webhook"\nurl = "{url}"\n'
        config = tmp_path / "agent.toml"
        steps = step(wire, "web-0", "a")
        config.write_text(toml(f"http://127.0.0.1:{region.face.port}/vm/web-0", tmp_path, rules + steps + told))
        facts, agent = watch(region), AgentProgram(tmp_path, config)
        with agents(agent):
            agent.start()
            region.restart("web-0")
            facts.until_started()
            hook.until("started")
            run_out(region)
            wire.until("web-0:undo:a")
            hook.until("completed")
            ends = time.monotonic() + 60
            while "undoing step 'a' is done" not in agent.log.read_text():
                assert time.monotonic() < ends
                wire.read(0.05)
            assert agent.end() == 0
    wire.close()
    occasions = [each["occasion"] for each in hook.told]
    assert occasions == ["scheduled", "preparing", "prepared", "approved", "started", "completed"]
    instants = [each["at"] for each in hook.told]
    assert instants == sorted(instants)
    assert all(re.fullmatch(r"\S+\.\d{3}Z", at) for at in instants)
    found, whole = _plain(agent.log.read_text()), STORY.splitlines()
    without_answer = [line for line in whole if "has taken the approval" not in line]
    assert found in (whole, without_answer), "an answer that came behind the start which it caused is not told"

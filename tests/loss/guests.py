"""VMs: they read their documents at any node or relay, wait for news, hop between them, and approve what they see."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from forewarn.wire.document import decode_document
from forewarn.wire.json_bytes import WireError
from forewarn.wire.versions import API_VERSIONS, NEWEST
from tests.loss.doors import Door
from tests.loss.history import Approval, Notebook, Outcome, Sight
from tests.loss.line import Lines, Reply
from tests.loss.roster import Roster

_METADATA = {"Metadata": "true"}
_TIMEOUT_SECONDS = 3.0
_WAIT_SECONDS = 2
_SILENCE_SECONDS = 14.0
_MISSED_MOST = 5  # a node that lags does not know a new VM yet
_APPROVED_SHARE = 0.6  # the rest waits for its NotBefore


class Guests:
    """One thread that speaks for a share of the VMs. Half of such threads stay with a door, half hop."""

    def __init__(
        self, number: int, of: int, doors: Sequence[Door], roster: Roster, chance: random.Random, directory: Path
    ) -> None:
        self._number, self._of = number, of
        self._doors = doors
        homes = [door for door in doors if door.knows_who_is_there]
        self._home = None if number % 2 else homes[number // 2 % len(homes)]
        self._roster = roster
        self._chance = chance
        self._book = Notebook(directory / f"guests-{number}.notes")
        self._lines = Lines(_TIMEOUT_SECONDS)
        self._seen: dict[str, tuple[str, int]] = {}  # VM -> the version it asks in, its last incarnation
        self._missed: dict[str, int] = {}  # VM -> how often in a row it was not there
        self._approved: dict[str, bool] = {}  # event -> whether an approval was answered with success
        self._stopped = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"guests-{number}")

    def start(self) -> None:
        self._thread.start()

    def close_everything(self) -> None:
        """From now on approve whatever is pending."""
        self._closing.set()

    def leave(self) -> None:
        """Finish the request that is under way, and no more."""
        self._stopped.set()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        self._lines.close()
        self._book.close()

    def _run(self) -> None:
        while not self._stopped.wait(self._chance.uniform(0.005, 0.05)):
            for vm in self._roster.share(self._number, self._of):
                if self._stopped.is_set():
                    return
                if not self._is_silent(vm):
                    self._turn(vm)

    def _is_silent(self, vm: str) -> bool:
        """Some VMs read for a while and then not for a while, so that their scopes may be disabled."""
        return vm.startswith("quiet") and int(time.monotonic() / _SILENCE_SECONDS) % 2 == 1

    def _door(self, vm: str) -> Door:
        if self._home is not None and self._home.serves(vm):
            return self._home
        return self._chance.choice([door for door in self._doors if door.serves(vm)])

    def _turn(self, vm: str) -> None:
        door = self._door(vm)
        version, incarnation = self._seen.get(vm, ("", 0))
        version = version or self._chance.choice((*API_VERSIONS, NEWEST, NEWEST, NEWEST)).date
        headers, wait = dict(_METADATA), 0
        if incarnation and self._chance.random() < 0.3:
            headers["If-None-Match"] = f'"{incarnation}"'
            if self._chance.random() < 0.3:
                wait = _WAIT_SECONDS
                headers["Prefer"] = f"wait={wait}"
        target = f"/vm/{vm}/metadata/scheduledevents?api-version={version}"
        reply = self._lines.ask(door.metadata_port, "GET", target, headers, wait=wait)
        if reply.status == 404 and not door.knows_who_is_there:
            return
        if reply.status in (200, 304, 404, 500, 503):
            self._note(vm, door, version, reply)
        if reply.status == 200:
            self._react(vm, version, reply)
        self._missed[vm] = self._missed.get(vm, 0) + 1 if reply.status == 404 else 0
        if self._missed[vm] >= _MISSED_MOST:
            self._roster.remove(vm)

    def _note(self, vm: str, door: Door, version: str, reply: Reply) -> None:
        tag = reply.headers.get("etag", "").strip('"')
        incarnation = int(tag) if tag else 0
        body = reply.body.decode() if reply.status in (200, 500) else ""
        self._book.add(Sight(vm, door.name, version, reply.asked, reply.answered, reply.status, incarnation, body))
        if reply.status == 200:
            self._seen[vm] = (version, incarnation)

    def _react(self, vm: str, version: str, reply: Reply) -> None:
        try:
            document = decode_document(reply.body)
        except WireError:
            return  # noted as it is; the judge will say what to think of it
        pending = [event for event in document.events if event.status == "Scheduled"] if document else []
        wanted = []
        for event in pending:
            self._roster.saw(event.event_id)
            answered = self._approved.get(event.event_id)
            if answered is None:
                answered = self._approved[event.event_id] = self._chance.random() > _APPROVED_SHARE
                answered = answered and event.type != "Terminate"  # whose notice is longer than any round
            if not answered or self._closing.is_set():
                wanted.append(event.event_id)
        if wanted:
            self._approve(vm, version, tuple(wanted))

    def _approve(self, vm: str, version: str, event_ids: tuple[str, ...]) -> None:
        door = self._door(vm)
        body = {"StartRequests": [{"EventId": event_id} for event_id in event_ids]}
        target = f"/vm/{vm}/metadata/scheduledevents?api-version={version}"
        reply = self._lines.ask(door.metadata_port, "POST", target, _METADATA, body)
        request_id = reply.headers.get("x-ms-request-id", "")
        self._book.add(
            Approval(vm, door.name, event_ids, reply.asked, reply.answered, reply.outcome, reply.status, request_id)
        )
        if reply.outcome is not Outcome.UNKNOWN:
            self._approved.update(dict.fromkeys(event_ids, True))

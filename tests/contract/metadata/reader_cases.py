"""What readers promise beyond a single face: that there are several of them, and that each may be late or go."""

from __future__ import annotations

import asyncio
import json
import select
import time
from collections.abc import Callable
from threading import Thread

import pytest

from forewarn.core.commands import CreateVms, Pulse, RestartVms
from forewarn.core.facts import ScopeEnabled
from forewarn.core.specs import VmSpec
from forewarn.plane.ports import Origin
from forewarn.server.readers.channel import ReaderChannel
from forewarn.web.faults import FaultKind, FaultRule
from tests.contract.metadata.readers_bench import ReadersBench
from tests.e2e.metadata_region import Guest, Response, approval, get, path_of, request
from tests.waiting import PATIENCE_SECONDS, until_in_loop

ReaderCase = Callable[[ReadersBench], None]
READER_CASES: dict[str, ReaderCase] = {}
NO_SUCH_EVENT = "00000000-0000-0000-0000-000000000000"


def case(check: ReaderCase) -> ReaderCase:
    READER_CASES[check.__name__] = check
    return check


@case
def what_one_reader_has_shown_another_does_not_take_back(bench: ReadersBench) -> None:
    bench.create("web")
    ahead, behind = bench.at_reader(0), bench.at_reader(1)
    first = [each.ask(get("web")).incarnation() for each in (ahead, behind, behind)]  # the last one from memory
    go_on = bench.hold_up(1)
    bench.restart("web")
    shown = ahead.ask(get("web")).incarnation()
    behind.send(get("web"))
    assert not select.select([behind.socket], [], [], 0.3)[0]  # an answer would be an older one
    go_on()
    assert (first, shown, behind.answer().incarnation()) == ([1, 1, 1], 2, 2)


@case
def a_reader_that_is_behind_holds_a_request_in_other_words_too(bench: ReadersBench) -> None:
    bench.create("web")
    behind = bench.at_reader(1)
    behind.ask(get("web"))
    go_on = bench.hold_up(1)
    bench.restart("web")
    behind.send(get("web", 'If-None-Match: "1"', version="2019-08-01"))
    assert not select.select([behind.socket], [], [], 0.3)[0]
    go_on()
    assert (behind.answer().status, bench.at_node().ask(get("web")).incarnation()) == (200, 2)


@case
def a_held_get_wakes_at_every_reader(bench: ReadersBench) -> None:
    bench.create("web")
    guests = [bench.at_reader(seat) for seat in range(bench.count)]
    for guest in guests:
        guest.ask(get("web"))
        guest.send(get("web", 'If-None-Match: "1"', "Prefer: wait=100"))
    bench.until(lambda: bench.do(lambda: bench.face.waiting) == len(guests), "held GETs")
    event = bench.restart("web")
    answers = [guest.answer() for guest in guests]
    assert [json.loads(each.body)["Events"][0]["EventId"] for each in answers] == [event] * len(guests)


@case
def first_reads_at_all_readers_at_once_are_one(bench: ReadersBench) -> None:
    bench.create("web")
    guests = [bench.at_reader(number % bench.count) for number in range(6)]
    answers: list[Response] = []
    asking = [Thread(target=lambda each=each: answers.append(each.ask(get("web")))) for each in guests]
    for each in asking:
        each.start()
    for each in asking:
        each.join()
    told = [each.fact for each in bench.do(lambda: bench.plane.journal.read(0, 1000))]
    assert [(each.status, each.incarnation()) for each in answers] == [(200, 1)] * 6
    assert sum(isinstance(fact, ScopeEnabled) for fact in told) == 1


@case
def a_reader_without_its_server_answers_for_as_long_as_what_it_knows_is_good(bench: ReadersBench) -> None:
    bench.create("web")
    guest = bench.at_reader(0)
    guest.ask(get("web"))
    bench.hold_up(0)
    assert guest.ask(get("web")).status == 200
    bench.until(lambda: guest.ask(get("web")).status == 503, "the end of what it may know")
    assert guest.ask(get("web", version="2019-08-01")).status == 503  # a question that it has not had before
    assert guest.ask(_post("web")).status == 503  # nothing of it was done
    assert guest.ask(request("GET", path_of("nobody"), "Metadata: true")).status == 503


@case
def a_fault_rule_counts_for_all_readers_together(bench: ReadersBench) -> None:
    bench.create("web")
    guests = [bench.at_reader(seat) for seat in range(bench.count)]
    for guest in guests * 2:
        guest.ask(get("web"))
    bench.do(lambda: bench.faults.add(FaultRule(FaultKind.ERROR, ("web",), times=2)))
    assert [guest.ask(get("web")).status for guest in guests * 2] == [500, 500, 200, 200]


@case
def reads_of_a_vm_that_somebody_watches_are_noted_whichever_reader_has_them(bench: ReadersBench) -> None:
    bench.create("web", "web-0")
    watched = bench.server.parts.watched
    guests = [bench.at_reader(seat) for seat in range(bench.count)]
    for guest in guests * 2:
        guest.ask(get("web"))
    bench.do(lambda: watched.ask("web", bench.plane.system.elapsed()))
    for guest in guests:
        guest.ask(get("web"))
        guest.ask(get("web-0"))
    noted = bench.do(lambda: watched.ask("web", bench.plane.system.elapsed()))
    assert [(each.status, each.incarnation) for each in noted] == [(200, 1)] * len(guests)


@case
def what_is_published_while_a_reader_is_told_the_rest_reaches_it_too(bench: ReadersBench) -> None:
    names = tuple(f"web-{number}" for number in range(1200))  # more than one portion
    bench.submit(CreateVms(names, VmSpec(), "seed"))
    bench.submit(Pulse(tuple((name, bench.do(bench.plane.now)) for name in names)))

    async def meanwhile() -> None:
        may_go_on = asyncio.Event()
        patch = pytest.MonkeyPatch()
        patch.setattr(ReaderChannel, "drained", lambda _self: may_go_on.wait())  # it stops after each portion
        seat = bench.readers.seats[0]
        pid = seat.pid
        seat.kill()
        await until_in_loop(lambda: seat.pid not in (0, pid) and seat._channel is not None)
        for number in (0, 700, 1199):
            await bench.plane.submit(RestartVms((f"web-{number}",), str(number)), Origin("operator"))
        patch.undo()
        may_go_on.set()

    bench.run(meanwhile())
    bench.until(lambda: bench.do(lambda: bench.readers.answering) == bench.count, "the reader back")
    assert bench.do(lambda: bench.readers.ended) == 1  # the one that was killed
    guest = bench.at_reader(0)
    for number in (0, 1, 700, 1199):
        found, wanted = guest.ask(get(f"web-{number}")), bench.at_node().ask(get(f"web-{number}"))
        assert (found.status, found.body) == (200, wanted.body)


@case
def what_waits_for_a_reader_that_begins_is_answered_before_the_server_ends(bench: ReadersBench) -> None:
    bench.create("web")
    bench.at_node().ask(get("web"))
    may_go_on = bench.do(asyncio.Event)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReaderChannel, "drained", lambda _self: may_go_on.wait())
        seat = bench.readers.seats[0]
        pid = seat.pid
        bench.do(seat.kill)
        bench.until(lambda: bench.do(lambda: seat.pid not in (0, pid) and seat._channel is not None), "another reader")
        guests = [bench.guest() for _ in range(12)]  # some of them wait for it
        for guest in guests:
            guest.send(get("web"))
        closing = bench.begin(bench.readers.close())
        bench.do(may_go_on.set)
        answers = [guest.answer() for guest in guests]
        closing.result(PATIENCE_SECONDS)
    assert [(each.status, each.incarnation()) for each in answers] == [(200, 1)] * len(guests)


@case
def a_reader_that_was_killed_comes_back_and_its_neighbour_is_not_touched(bench: ReadersBench) -> None:
    bench.create("web")
    killed, other = bench.at_reader(0), bench.at_reader(1)
    for guest in (killed, other):
        guest.ask(get("web"))
    bench.do(bench.readers.seats[0].kill)
    assert _is_cut(killed)
    bench.restart("web")
    assert other.ask(get("web")).incarnation() == 2
    again = bench.at_reader(0)
    assert again.ask(get("web")).incarnation() == 2
    assert bench.do(lambda: bench.readers.ended) == 1


@case
def a_reader_is_told_the_reads_of_nobody_and_the_server_those_of_all(bench: ReadersBench) -> None:
    bench.create("web")
    guest = bench.at_reader(0)
    for _ in range(3):
        guest.ask(get("web"))
    bench.do(lambda: bench.plane.reads.last.clear())
    guest.ask(get("web"))
    bench.until(lambda: bench.do(lambda: "web" in bench.plane.reads.last), "the read at the server")
    told = bench.do(lambda: dict(bench.server.parts.answers.reads()))
    assert told[200] == 4


@case
def a_held_get_of_a_vm_that_is_watched_meanwhile_goes_on_waiting(bench: ReadersBench) -> None:
    bench.create("web")
    guest = bench.at_reader(0)
    guest.ask(get("web"))
    guest.send(get("web", 'If-None-Match: "1"', "Prefer: wait=100"))
    bench.until(lambda: bench.do(lambda: bench.face.waiting) == 1, "a held GET")
    bench.do(lambda: bench.server.parts.watched.ask("web", bench.plane.system.elapsed()))
    bench.restart("web")
    assert guest.answer().incarnation() == 2
    noted = bench.do(lambda: bench.server.parts.watched.ask("web", bench.plane.system.elapsed()))
    assert [each.incarnation for each in noted] == [2]


def _is_cut(guest: Guest) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if not guest.socket.recv(1):
                return True
        except OSError:
            return True
    return False


def _post(name: str) -> bytes:
    body = approval(NO_SUCH_EVENT)
    return request("POST", path_of(name), "Metadata: true", f"Content-Length: {len(body)}", body=body)

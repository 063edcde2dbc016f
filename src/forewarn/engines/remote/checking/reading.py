"""The rules that can be tried without touching a machine."""

from __future__ import annotations

import threading
import time
from urllib.parse import quote, urlencode

from forewarn.core.machines.values import ErrandKind
from forewarn.engines.remote import messages
from forewarn.engines.remote.checking.ground import RUNNING, Broken, CheckGround, NotTried, Rule, expect
from forewarn.engines.remote.wire import WireAnswer
from forewarn.plane.hands.engine import EngineFault

_NOWHERE = "forewarn-check-nowhere"  # no host, machine, errand or cursor is called so


def _introduces_itself(ground: CheckGround) -> None:
    answer = ground.ask("GET", "/v1/engine")
    expect(answer, "GET /v1/engine", 200)
    card = messages.card_of(answer.body)
    if not card.kinds:
        raise Broken(f"none of its kinds is one that forewarn knows: {', '.join(sorted(ErrandKind))}")
    if not card.hosts:
        raise Broken("it has no hosts")
    ground.card = card


def _lists_its_hosts(ground: CheckGround) -> None:
    for host in ground.known.hosts:
        ground.engine.listing(host)


def _names_are_its_own(ground: CheckGround) -> None:
    found: dict[str, str] = {}
    for host in ground.known.hosts:
        for each in ground.engine.listing(host).machines:
            if found.setdefault(each.ref, host) != host:
                raise Broken(f"{each.ref} is both at {found[each.ref]} and at {host}")


def _marks_stay(ground: CheckGround) -> None:
    first, second = (
        {
            (host, each.ref): each.boot_mark
            for host in ground.known.hosts
            for each in ground.engine.listing(host).machines
            if each.power is RUNNING
        }
        for _ in range(2)
    )
    if not first:
        raise NotTried("no machine runs there")
    for (host, ref), mark in first.items():
        if not mark:
            raise Broken(f"{ref} at {host} runs, and has no boot mark")
        if second.get((host, ref), mark) != mark:
            raise Broken(f"{ref} at {host} had the boot mark {mark!r}, and a moment later {second[host, ref]!r}")


def _unknown_things(ground: CheckGround) -> None:
    expect(ground.ask("GET", f"/v1/{_NOWHERE}"), "a path that is not in the protocol", 404)
    expect(ground.ask("GET", f"/v1/hosts/{_NOWHERE}/machines"), "a listing of a host that is not there", 404)


def _unknown_errands(ground: CheckGround) -> None:
    expect(ground.ask("GET", f"/v1/errands/{_NOWHERE}?wait=0"), "the state of an errand that is not known", 404)
    expect(ground.ask("DELETE", f"/v1/errands/{_NOWHERE}"), "giving up an errand that is not known", 404, 204)


def _cursors(ground: CheckGround) -> None:
    host = ground.known.hosts[0]
    expect(_changes(ground, host, _NOWHERE, 0.0), "a cursor that is not known", 200)
    cursor = ground.engine.listing(host).cursor
    answer = _changes(ground, host, cursor, 0.0)
    expect(answer, "the cursor of the last listing", 200, 204)
    if answer.status == 200:
        messages.understood(answer.body, messages.CursorAnswer, "cursor")


def _holds_questions(ground: CheckGround) -> None:
    if "wait" not in ground.known.offers:
        raise NotTried("it does not offer 'wait'")
    host = ground.known.hosts[0]
    cursor = ground.engine.listing(host).cursor
    held = threading.Thread(target=_changes, args=(ground, host, cursor, ground.held_seconds), daemon=True)
    began = time.monotonic()
    held.start()
    time.sleep(ground.held_seconds / 4)  # so that it is held when the other is asked
    ground.engine.listing(host)
    if time.monotonic() - began >= ground.held_seconds:
        raise Broken("while it held a question for changes, it did not answer another")
    held.join(ground.held_seconds + ground.call_seconds)


def _changes(ground: CheckGround, host: str, cursor: str, wait: float) -> WireAnswer:
    query = urlencode({"after": cursor, "wait": f"{wait:g}"})
    return ground.ask("GET", f"/v1/hosts/{quote(host, safe='')}/changes?{query}", None, wait)


def _refuses_nonsense(ground: CheckGround) -> None:
    target = f"/v1/errands/{_NOWHERE}"
    expect(ground.ask("PUT", target, []), "an errand that is no object", 400, 422)
    expect(ground.ask("PUT", target, {"kind": "brew"}), "an errand of a kind that there is not", 400, 422)
    ground.engine.listing(ground.known.hosts[0])


def _refuses_what_is_gone(ground: CheckGround) -> None:
    kinds = [kind for kind in ("restart", "stop", "pause", "migrate") if kind in ground.known.kinds]
    if not kinds:
        raise NotTried("it has no errand that needs a machine which is there")
    host = ground.known.hosts[0]
    body = {"kind": kinds[0], "host": host, "ref": _NOWHERE, "boot_mark": "x", "to": ground.known.hosts[-1], "left": 5}
    answer = ground.ask("PUT", f"/v1/errands/{_NOWHERE}", body)
    expect(answer, f"to {kinds[0]} a machine that is not there", 422)
    told = messages.refusal_of(answer.body)
    if not told.lasting:
        raise Broken("what cannot be is to be refused for good ('lasting' is false)")
    if not told.why:
        raise Broken("a refusal needs a sentence in 'why'")


def _keeps_strangers_out(ground: CheckGround) -> None:
    if ground.stranger is None:
        raise NotTried("only https has a token")
    for target in ("/v1/engine", f"/v1/errands/{_NOWHERE}"):
        expect(ground.stranger.ask("GET", target, None, ground.call_seconds), "a wrong token", 401, 403)


def _answers(ground: CheckGround) -> None:
    try:
        ground.ask("GET", "/v1/engine")
    except EngineFault as fault:
        raise Broken(str(fault)) from None


READING: tuple[Rule, ...] = (
    ("It answers", _answers),
    ("It says who it is, what it can do, and which hosts it has", _introduces_itself),
    ("It lists the machines of each of its hosts", _lists_its_hosts),
    ("No two of its machines have the same name", _names_are_its_own),
    ("A machine that runs has a boot mark, which stays", _marks_stay),
    ("What is not there is answered by 404", _unknown_things),
    ("An errand that it does not know is answered by 404", _unknown_errands),
    ("A cursor that it does not know is answered by 200", _cursors),
    ("It answers others while it holds a question", _holds_questions),
    ("Nonsense is refused, and it goes on", _refuses_nonsense),
    ("What cannot be done to a machine that is gone is refused for good, in a sentence", _refuses_what_is_gone),
    ("Without the right token nothing is told", _keeps_strangers_out),
)

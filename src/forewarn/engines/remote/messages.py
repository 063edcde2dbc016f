"""What is said between forewarn and a program that runs machines: shapes and bounds, and nothing that does anything.

The OpenAPI document is made from these, so what a page promises is what is read here. An engine may be mistaken or
hostile: whatever does not fit is an ``EngineFault``, and then nothing is believed of that answer.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from forewarn.core.machines.values import Errand, ErrandKind, Listing, MachinePower, SeenWhy, Sighting
from forewarn.plane.hands.engine import EngineFault, Finding

PROTOCOL = 1
MACHINES_MOST = 20_000  # in one listing; ours: more than any single host runs
_NO_CONTROL = r"^(?![\s\S]*[\x00-\x1f\x7f])"  # nothing that moves a cursor or ends a line of a log
Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=_NO_CONTROL)]
Mark = Annotated[str, Meta(max_length=300, pattern=_NO_CONTROL)]
Sentence = Annotated[str, Meta(max_length=2000)]
Seconds = Annotated[float, Meta(ge=0)]

_T = TypeVar("_T")


class EngineCard(Struct, frozen=True, rename={"engine_kinds": "kinds"}):
    """Who answers: ``GET /v1/engine``."""

    protocol: int  # 1
    name: Name  # of the platform, for people
    engine_kinds: Annotated[tuple[Name, ...], Meta(max_length=50)]  # errands that it can do; unknown ones are ignored
    hosts: Annotated[tuple[Name, ...], Meta(max_length=10_000)]
    version: Mark = ""
    offers: Annotated[tuple[Name, ...], Meta(max_length=50)] = ()  # of "wait", "owner", "findings"

    @property
    def kinds(self) -> frozenset[ErrandKind]:
        known = {kind.value for kind in ErrandKind} - {ErrandKind.FENCE.value}
        return frozenset(ErrandKind(kind) for kind in self.engine_kinds if kind in known)


class WantedErrand(Struct, frozen=True, omit_defaults=True):
    """What is to be so, and what may be done for it just now: the body of ``PUT /v1/errands/{id}``."""

    kind: ErrandKind
    host: str = ""  # where the machine is, as far as the region knows
    ref: str = ""  # the engine's own name for the machine; absent before it is made
    to: str = ""  # the host where it is to be: create, start, migrate, redeploy
    vm: str = ""  # the VM's name in the region
    vm_id: str = ""  # its GUID, which never changes
    boot_mark: str = ""  # the machine's when this was first wanted
    blueprint: str = ""  # what to create from, by its name in the server's own files
    source_off: bool = False  # redeploy: it is known to be off where it was, whether that host answers or not
    grace: Seconds = 0.0  # how long the guest may take to obey before it is cut off
    again: bool = False  # asked for before, perhaps by another process: a pause is then ended, never begun
    left: float = 0.0  # pause: seconds until it is over; zero or less: it is to be ended
    leave: str = ""  # the change that may be made now, in the words of the last ``asks``


class SeenMachine(Struct, frozen=True, omit_defaults=True):
    """One machine as it is now."""

    ref: Name  # no two machines of an engine have the same, whatever their hosts
    power: MachinePower
    host: Mark = ""  # in a listing it may be left out
    boot_mark: Mark = ""  # changes whenever the machine loses its memory, and only then
    why: SeenWhy = SeenWhy.UNKNOWN  # why it is off
    errand: Mark = ""  # the last errand whose id is kept with the machine
    stood_ms: Annotated[int, Meta(ge=0, le=86_400_000)] = 0  # after a live migration, where it was measured


class DoneAnswer(Struct, frozen=True):
    """200: what is wanted is there, and this is what was seen."""

    sighting: SeenMachine


class TakenAnswer(Struct, frozen=True, omit_defaults=True):
    """202: not there yet. With ``asks`` it is the next change that waits for leave; without, it is under way."""

    asks: Mark = ""
    why: Sentence = ""
    again_after: Seconds = 1.0


class EngineRefusal(Struct, frozen=True, omit_defaults=True):
    """409, 422, 503 and all other refusals: why, in a sentence for a person."""

    why: Sentence = ""
    lasting: bool = True  # 422: asking again cannot help


class HostListing(Struct, frozen=True):
    """All machines at one host: ``GET /v1/hosts/{host}/machines``."""

    host: Name
    complete: bool  # where it is, a machine that is absent is gone
    machines: Annotated[tuple[SeenMachine, ...], Meta(max_length=MACHINES_MOST)]
    cursor: Mark = ""


class CursorAnswer(Struct, frozen=True):
    """It is worth to list that host again: ``GET /v1/hosts/{host}/changes``."""

    cursor: Name


class OwnerMark(Struct, frozen=True):
    """Whose machine it is: the body of ``PUT …/owner``."""

    vm: str
    vm_id: str


class EngineFinding(Struct, frozen=True, omit_defaults=True):
    """One thing that was found out about a machine."""

    topic: Name  # "reachable", "filtered", "address", "mac", "namespace", "migratable", "autostart", or a kind
    ok: bool
    sentence: Sentence
    value: Mark = ""  # the address, the hardware address or the namespace, where there is one


class EngineFindings(Struct, frozen=True):
    """What is to be known about a machine before anything is asked of it: ``GET …/findings``."""

    findings: Annotated[tuple[EngineFinding, ...], Meta(max_length=100)]


def wanted(errand: Errand, *, again: bool, left: float, leave: str) -> bytes:
    """The body of a PUT."""
    is_pause = errand.kind is ErrandKind.PAUSE
    return msgspec.json.encode(
        WantedErrand(
            kind=errand.kind,
            host=errand.host,
            ref=errand.ref,
            to=errand.to,
            vm=errand.vm,
            vm_id=errand.vm_id,
            boot_mark=errand.boot_mark,
            blueprint=errand.blueprint,
            source_off=errand.source_off,
            grace=errand.grace.total_seconds(),
            again=again,
            left=round(left, 3) if is_pause else 0.0,
            leave=leave,
        )
    )


def understood(body: bytes, shape: type[_T], what: str) -> _T:
    """An answer's body as what it should be; ``EngineFault`` where it is something else."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise EngineFault(f"The engine's {what} is not what the protocol says: {fault}.") from None


def card_of(body: bytes) -> EngineCard:
    card = understood(body, EngineCard, "introduction")
    if card.protocol != PROTOCOL:
        raise EngineFault(f"The engine speaks version {card.protocol} of the protocol; forewarn speaks {PROTOCOL}.")
    return card


def listing_of(body: bytes, host: str) -> Listing:
    """Refused as a whole where it tells of another host, or of one machine twice."""
    told = understood(body, HostListing, f"listing of {host}")
    if told.host != host or any(each.host not in ("", host) for each in told.machines):
        raise EngineFault(f"Asked for the machines at {host}, the engine tells of another host's.")
    refs = {each.ref for each in told.machines}
    if len(refs) != len(told.machines):
        raise EngineFault(f"The engine's listing of {host} has two machines of one name.")
    return Listing(host, told.complete, tuple(_sighting(each, host) for each in told.machines), told.cursor)


def sighting_for(body: bytes, errand: Errand) -> Sighting:
    """What satisfies an errand can only be a sighting of its machine, at a host that the errand names."""
    seen = understood(body, DoneAnswer, "answer that an errand is done").sighting
    host = seen.host or errand.to or errand.host
    if errand.ref and seen.ref != errand.ref:
        raise EngineFault(f"Asked about {errand.ref}, the engine says that {seen.ref} is as it was wanted.")
    if host not in (errand.host, errand.to):
        raise EngineFault(f"The engine has {seen.ref} at {host}, where it was not wanted.")
    return _sighting(seen, host)


def findings_of(body: bytes) -> tuple[Finding, ...]:
    told = understood(body, EngineFindings, "findings").findings
    return tuple(Finding(each.topic, each.ok, words_of(each.sentence), each.value) for each in told)


def refusal_of(body: bytes) -> EngineRefusal:
    """Never a fault of its own: what is no JSON is quoted as far as it can be read."""
    try:
        found = msgspec.json.decode(body, type=EngineRefusal) if body.strip() else EngineRefusal()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = EngineRefusal(body[:WORDS_MOST].decode("utf-8", "replace"))
    return EngineRefusal(words_of(found.why), found.lasting)


WORDS_MOST = 400  # letters of an engine's sentence, as it is passed on; ours


def words_of(text: str) -> str:
    """In one line, without what does not print, cut where it is too long."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(plain.split())[:WORDS_MOST]


def _sighting(seen: SeenMachine, host: str) -> Sighting:
    return Sighting(seen.ref, host, seen.power, seen.boot_mark, seen.why, seen.errand, stood_ms=seen.stood_ms)


def encoded(value: Any) -> bytes:
    return msgspec.json.encode(value)

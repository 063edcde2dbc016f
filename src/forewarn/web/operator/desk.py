"""What the routes work with: the plane, one consistent look at it, and who is asking.

A request that becomes a command goes through its ``Asker``. With ``?dry_run=true`` that is a ``DryRun``, and nothing is
left to the route: what it submits is stepped on a copy of the region, and what it looks at afterwards is that copy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, ParamSpec, TypeAlias, TypeVar

from fastapi import Depends, Query, Request

from forewarn.core.commands import Command
from forewarn.core.facts import Fact
from forewarn.core.region import Region
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Origin
from forewarn.plane.read_models.census import Census
from forewarn.plane.read_models.register import Register
from forewarn.web.access import EVERYTHING, NO_TOKENS, Grant, Tokens
from forewarn.web.current import be_current
from forewarn.web.faults import FaultRules
from forewarn.web.introduction import Introduction
from forewarn.web.operator.live.changes import Changes
from forewarn.web.operator.live.relays import Newsroom
from forewarn.web.operator.made_up import made_up, without
from forewarn.web.operator.schema.answers import CommandAnswer, SettingView
from forewarn.web.operator.stream import Streams
from forewarn.web.watched import WatchedVms
from forewarn.wire.document import NotBeforeFormat

_LONGEST_WHO = 100  # a name with its domain fits; more is no name, and stands in every record
_P = ParamSpec("_P")
_Told = TypeVar("_Told", bound=CommandAnswer)

Visible: TypeAlias = Callable[[str], Region]  # what the guests of a scope may see already
ReadersNow: TypeAlias = Callable[[], tuple[int, int]]  # how many readers answer, how many ended that were not to


def no_readers() -> tuple[int, int]:
    """Of a server that answers alone."""
    return 0, 0


@dataclass(frozen=True)
class Desk:
    """The parts that one app serves."""

    plane: Plane
    faults: FaultRules
    watched: WatchedVms
    settings: tuple[SettingView, ...]
    metadata_url: str
    streams: Streams
    changes: Changes
    resource_manager: Introduction | None = None
    not_before_format: NotBeforeFormat = "rfc1123"  # as the metadata face of this server writes its documents
    region_name: str = ""
    kept_in: str = ""
    visible: Visible | None = None  # of the metadata face of this server; None where it shows everything at once
    tokens: Tokens = NO_TOKENS
    newsroom: Newsroom = field(kw_only=True)
    readers: ReadersNow = no_readers


@dataclass(frozen=True)
class Look:
    """The region as it was at one moment: every route reads it once, so that an answer never contradicts itself.

    It is taken on the loop. Long answers are then made from it in a thread, where nothing can change it.
    """

    region: Region
    seq: int
    now: datetime
    awaited: dict[str, list[str]] = field(default_factory=dict, compare=False)  # by group, as far as it was asked for


@dataclass(frozen=True)
class Listed:
    """The same with the read models of that region, for routes that list, filter or search."""

    look: Look
    register: Register
    census: Census


class Asker:
    """Who sent a request, and how its command gets to the plane."""

    def __init__(self, plane: Plane, origin: Origin) -> None:
        self.plane = plane
        self.origin = origin

    async def submit(self, command: Command) -> tuple[Fact, ...]:
        return await self.plane.submit(command, self.origin)

    def look(self) -> Look:
        """The region as it is published after what was submitted."""
        return look_at(self.plane)

    def editing(self) -> AbstractAsyncContextManager[None]:
        """A lock for read-modify-write, held from the look to the write: editors do not overwrite each other."""
        return self.plane.editing

    async def tell(self, make: Callable[_P, _Told], *args: _P.args, **kwargs: _P.kwargs) -> _Told:
        """The answer to the request, made by ``make`` in a thread: it may take long, and the loop serves others."""
        return await asyncio.to_thread(make, *args, **kwargs)

    async def tell_few(self, make: Callable[_P, _Told], *args: _P.args, **kwargs: _P.kwargs) -> _Told:
        """The same of so few things that a thread would cost more than the answer."""
        return make(*args, **kwargs)

    def new_guid(self) -> str:
        """A fresh id or seed, in the spelling of event ids."""
        return self.plane.system.new_guid()

    @property
    def name(self) -> str:
        """The caller, as approvals and cancellations record it."""
        return f"{self.origin.door} ({self.origin.who})" if self.origin.who else self.origin.door


class DryRun(Asker):
    """An asker whose commands change nothing: it goes on from the region as it is, and keeps what would come of it.

    For the routes, and for code that calls their functions with bodies of its own: one dry run for each call.
    """

    def __init__(self, plane: Plane, origin: Origin) -> None:
        super().__init__(plane, origin)
        self._look = look_at(plane)
        self._made_up: dict[str, str] = {}

    async def submit(self, command: Command) -> tuple[Fact, ...]:
        """What would happen now, or the refusal. Stepped in a thread: many VMs take a while."""
        region, facts = await asyncio.to_thread(self.plane.rehearse, self._look.region, command)
        self._look = Look(region, self._look.seq, self.plane.now())
        self._made_up |= made_up(region, facts)
        return facts

    def look(self) -> Look:
        return self._look

    def editing(self) -> AbstractAsyncContextManager[None]:
        """Takes no lock: a dry run writes nothing, so other editors need not wait for it."""
        return nullcontext()

    async def tell(self, make: Callable[_P, _Told], *args: _P.args, **kwargs: _P.kwargs) -> _Told:
        """The same answer, which says what it is, without the ids that had to be made up."""
        told = await asyncio.to_thread(make, *args, **kwargs)
        cleaned = await asyncio.to_thread(without, told, self._made_up)
        return cleaned.model_copy(update={"dry_run": True})

    async def tell_few(self, make: Callable[_P, _Told], *args: _P.args, **kwargs: _P.kwargs) -> _Told:
        return await self.tell(make, *args, **kwargs)


def look_at(plane: Plane) -> Look:
    return Look(plane.region, plane.seq, plane.now())


async def _desk(request: Request) -> Desk:
    found: Desk = request.app.state.desk
    return found


async def _current(request: Request) -> Plane:
    """The plane, after taking up what other nodes have written: routes read and change the newest region."""
    desk: Desk = request.app.state.desk
    await be_current(desk.plane)
    return desk.plane


async def _look(request: Request) -> Look:
    return look_at(await _current(request))


async def _listed(request: Request) -> Listed:
    """A look with read models. They are made when first needed, so the first request waits for them."""
    found = await list_of(await _current(request))
    assert found is not None, "without a limit of patience there is always a list"
    return found


async def list_of(plane: Plane, patience_seconds: float | None = None) -> Listed | None:
    """Read models and the region that they show, or None where making them takes longer than ``patience_seconds``."""
    models = await plane.read_models.at_hand(patience_seconds)
    if models is None:
        return None
    return Listed(Look(models.region, models.seq, plane.now()), models.register, models.census)


def _origin(request: Request) -> Origin:
    headers = request.headers
    said = headers.get("x-forewarn-client") or headers.get("user-agent") or ""
    granted: Grant = getattr(request.state, "grant", EVERYTHING)
    said = f"{granted.name} ({said})" if granted.name and said else granted.name or said
    who = "".join(letter for letter in said if letter.isprintable()).strip()[:_LONGEST_WHO]
    return Origin(door="operator", who=who, request_id=request.state.request_id)


async def _mover(request: Request) -> Asker:
    return Asker(await _current(request), _origin(request))


async def _asker(
    request: Request,
    dry_run: Annotated[
        bool,
        Query(description="Only tell what this would do now: nothing is changed, written or announced."),
    ] = False,
) -> Asker:
    plane = await _current(request)  # called, not depended on: each dependency costs a request as much as a fact
    return (DryRun if dry_run else Asker)(plane, _origin(request))


TheDesk = Annotated[Desk, Depends(_desk)]
ThePlane = Annotated[Plane, Depends(_current)]
TheListed = Annotated[Listed, Depends(_listed)]
TheLook = Annotated[Look, Depends(_look)]
TheAsker = Annotated[Asker, Depends(_asker)]  # for every request that becomes a command: it takes dry_run
TheMover = Annotated[Asker, Depends(_mover)]  # for the clock, of which there is no dry run

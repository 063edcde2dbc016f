"""What the routes work with: the plane, one consistent look at it, and who is asking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from forewarn.core.commands import Command
from forewarn.core.facts import Fact
from forewarn.core.region import Region
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Origin
from forewarn.web.current import be_current
from forewarn.web.faults import FaultRules
from forewarn.web.introduction import Introduction
from forewarn.web.operator.live.changes import Changes
from forewarn.web.operator.schema.answers import SettingView
from forewarn.web.operator.stream import Streams
from forewarn.wire.document import NotBeforeFormat

_LONGEST_WHO = 100

Visible: TypeAlias = Callable[[str], Region]  # what the guests of a scope may see already


@dataclass(frozen=True)
class Desk:
    """The parts that one app serves."""

    plane: Plane
    faults: FaultRules
    settings: tuple[SettingView, ...]
    metadata_url: str
    streams: Streams
    changes: Changes
    resource_manager: Introduction | None = None
    not_before_format: NotBeforeFormat = "rfc1123"  # as the metadata face of this server writes its documents
    region_name: str = ""
    kept_in: str = ""
    visible: Visible | None = None  # of the metadata face of this server; None where it shows everything at once


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
class Asker:
    """Somebody with a request, and the way to the plane."""

    plane: Plane
    origin: Origin

    async def submit(self, command: Command) -> tuple[Fact, ...]:
        return await self.plane.submit(command, self.origin)

    def look(self) -> Look:
        """The region after what was submitted."""
        return look_at(self.plane)

    def new_guid(self) -> str:
        """A fresh id or seed, in the spelling of event ids."""
        return self.plane.system.new_guid()

    @property
    def name(self) -> str:
        """As approvals and cancellations tell it."""
        return f"operator ({self.origin.who})" if self.origin.who else "operator"


def look_at(plane: Plane) -> Look:
    return Look(plane.region, plane.seq, plane.now())


async def _desk(request: Request) -> Desk:
    found: Desk = request.app.state.desk
    return found


async def _current(desk: Annotated[Desk, Depends(_desk)]) -> Plane:
    """Whoever looks at the region, or changes it, looks at the newest."""
    await be_current(desk.plane)
    return desk.plane


async def _look(plane: Annotated[Plane, Depends(_current)]) -> Look:
    return look_at(plane)


async def _asker(request: Request, plane: Annotated[Plane, Depends(_current)]) -> Asker:
    headers = request.headers
    said = headers.get("x-forewarn-client") or headers.get("user-agent") or ""
    who = "".join(letter for letter in said if letter.isprintable()).strip()[:_LONGEST_WHO]
    return Asker(plane, Origin(door="operator", who=who, request_id=request.state.request_id))


TheDesk = Annotated[Desk, Depends(_desk)]
ThePlane = Annotated[Plane, Depends(_current)]
TheLook = Annotated[Look, Depends(_look)]
TheAsker = Annotated[Asker, Depends(_asker)]

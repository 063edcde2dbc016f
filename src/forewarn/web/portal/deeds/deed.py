"""What a deed is: the words for it, what it asks, the operator's route that does it, and its twins at other doors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import BaseModel

from forewarn.core.region import Region, fold
from forewarn.web.operator.desk import Asker, Desk
from forewarn.web.operator.schema.fleet_answers import EventAnswer
from forewarn.web.portal.ahead import ahead
from forewarn.web.portal.doors.twins import ApiCall, Twin
from forewarn.web.portal.forms import Filled, FormField

MANY = 20  # ours, as hosts have by default: VMs that may be hit without their number being typed


@dataclass(frozen=True)
class Outlook:
    """What a deed would do, as its dry run tells it: a sentence, events, and whom it hits at once."""

    message: str
    events: tuple[EventAnswer, ...] = ()
    at_once: tuple[str, ...] = ()
    made: tuple[str, ...] = ()  # what would be new
    goes_on: bool = True  # False where nothing would change, so that there is nothing to confirm

    def hit(self, region: Region) -> set[str]:
        """The VMs that feel it, now or later."""
        return {fold(name) for event in self.events for name in event.vms} | {fold(name) for name in self.at_once}

    def shape(self) -> tuple[object, ...]:
        """What a confirmation agrees to. Instants are left out, because they move while a person reads."""
        events = sorted((event.type, event.scope, tuple(event.vms), event.phase) for event in self.events)
        return tuple(events), self.at_once, self.made


# Carries the deed out with an ``Asker``, or rehearses it with a ``DryRun``; returns the operator's answer.
Doing: TypeAlias = Callable[[Filled, Asker, Desk], Awaitable[Any]]


@dataclass(frozen=True)
class PortalDeed:
    """One row of the table."""

    key: str  # in the address: /portal/do/KEY
    title: str  # what the button says
    question: Callable[[Filled], str]
    fields: tuple[FormField, ...]
    do: Doing
    tell: Callable[[Any], Outlook]  # the operator's answer, as the confirmation shows it
    call: Callable[[Filled], ApiCall]  # the request of the operator API
    twins: Callable[[Filled, Region], tuple[Twin, ...]] = field(default=lambda filled, region: ())
    final: str = ""  # why it cannot be taken back, where it cannot
    danger: bool = False
    unwritten: str = ""  # what came of it, where the journal does not tell of it
    further: Callable[[Filled], tuple[ApiCall, ...]] = field(default=lambda filled: ())  # requests after the first
    hint: str = ""  # one line for the palette and the menu


def outcome(answer: Any) -> Outlook:
    """Of an ``OutcomeAnswer``."""
    return Outlook(ahead(answer.message, answer.events), tuple(answer.events), tuple(answer.at_once))


def body_of(filled: Filled, model: type[BaseModel], *but: str) -> dict[str, Any]:
    """A body as JSON, with what was typed and nothing that is a default."""
    body: BaseModel = filled.body(model, *but)
    return body.model_dump(mode="json", exclude_unset=True)


def some(names: tuple[str, ...], what: str, most: int = 3) -> str:
    """``web-0``, ``web-0 and web-1``, ``web-0, web-1, web-2 and 7 more VMs``."""
    if not names:
        return f"no {what}"
    shown, more = list(names[:most]), len(names) - most
    if more > 0:
        shown.append(f"{more} more {what}s")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"

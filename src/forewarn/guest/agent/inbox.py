"""What the agent's one deciding thread is told by all the others."""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.guest.agent.deciding.state import StepEnd
from forewarn.guest.faults import Fault
from forewarn.guest.reading import Reading
from forewarn.guest.system.parts import Queue


@dataclass(frozen=True, slots=True)
class Named:
    """This VM's own name is known."""

    name: str


@dataclass(frozen=True, slots=True)
class Looked:
    """One look at the document, and the tick at which it came."""

    reading: Reading
    tick: float


@dataclass(frozen=True, slots=True)
class WorkEnded:
    """A step, or its reverse, has come to an end."""

    run: int
    ended: StepEnd
    seconds: float


@dataclass(frozen=True, slots=True)
class Posted:
    """The service has taken an approval, or why not."""

    key: str
    fault: Fault | None


@dataclass(frozen=True, slots=True)
class Answered:
    """What another member of a shared event says of itself; None: nothing that can be believed."""

    key: str
    name: str
    stance: str | None


@dataclass(frozen=True, slots=True)
class Spoken:
    """Another member has spoken to us: a reason to ask it at once."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The agent shall end: a signal came, or its service was stopped."""

    why: str
    status: int = 0


Message = Named | Looked | WorkEnded | Posted | Answered | Spoken | Stop
Inbox = Queue[Message]

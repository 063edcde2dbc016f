"""What a drill, a test or the simulator changes of an agent: its pace, and who is told of its turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from forewarn.guest.agent.deciding.handling import Situation
from forewarn.guest.agent.deciding.state import StepEnd
from forewarn.guest.agent.values import Step


@dataclass(frozen=True, slots=True)
class AgentPace:
    """How often the agent looks whether time alone has changed what is to be done."""

    busy_seconds: float = 1.0  # while there is something to do
    idle_seconds: float = 30.0  # ours: documents wake the loop by themselves; this is for a wall clock that was set


PACE = AgentPace()


class TurnWatcher(Protocol):
    """Is told of the agent's turns, in the agent's deciding thread."""

    def acted(self, moment: Situation) -> None:
        """A turn is over."""

    def ended(self, step: Step, end: StepEnd, seconds: float, *, undo: bool) -> None:
        """A step, or its reverse, was tried."""

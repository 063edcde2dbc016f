"""One line of a timeline."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Moment:
    """``seq`` and ``order`` tell what came first where the clock stood still; a note comes after the fact ``seq``."""

    seq: int
    at: datetime
    by: str
    text: str
    event_id: str = ""
    order: int = 0

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S}  {self.by:<13} {self.text}"

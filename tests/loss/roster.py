"""What the clients of a world tell each other: which VMs there should be, and which events somebody has seen."""

from __future__ import annotations

import random
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

_MOST_EVENTS = 30

# The fleet that a round begins with: what kind each is to whoever acts on it, and how it is asked for.
FLEET: tuple[tuple[str, dict[str, Any]], ...] = (
    ("lone", {"name": "lone", "count": 5}),
    ("member", {"name": "front", "count": 4, "availability_set": "front"}),
    ("spot", {"name": "spot", "count": 3, "spot": True, "eviction_policy": "Deallocate"}),
    ("spot", {"name": "brief", "count": 2, "spot": True, "eviction_policy": "Delete"}),
    ("lone", {"name": "told", "count": 2, "terminate_notice_seconds": 300}),
)
QUIET: dict[str, Any] = {"name": "quiet", "count": 2}
INSTANCES = tuple(f"herd_{number}" for number in range(6))
FIRST_VMS = frozenset(
    (
        *(
            f"{body['name']}-{number}"
            for body in (*(each for _, each in FLEET), QUIET)
            for number in range(body["count"])
        ),
        *INSTANCES,
    )
)


@dataclass
class Roster:
    """Shared by all clients of a round. It may be wrong: a VM that is unknown or gone is worth asking about too."""

    _vms: dict[str, str] = field(default_factory=dict)  # name -> kind
    _gone: deque[str] = field(default_factory=lambda: deque(maxlen=5))
    _events: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_EVENTS))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, *names: str) -> None:
        with self._lock:
            self._vms.update(dict.fromkeys(names, kind))

    def remove(self, *names: str) -> None:
        with self._lock:
            for name in names:
                if self._vms.pop(name, None):
                    self._gone.append(name)

    def some(self, chance: random.Random, most: int, *kinds: str) -> list[str]:
        """A few VMs of these kinds, or of any."""
        with self._lock:
            names = [name for name, kind in self._vms.items() if not kinds or kind in kinds]
        return chance.sample(names, min(len(names), chance.randint(1, most)))

    def share(self, number: int, of: int) -> list[str]:
        """The VMs that one of several clients speaks for, and now and then one that is gone."""
        with self._lock:
            return [name for place, name in enumerate([*self._vms, *self._gone]) if place % of == number]

    @property
    def size(self) -> int:
        with self._lock:
            return len(self._vms)

    def saw(self, event_id: str) -> None:
        with self._lock:
            if event_id not in self._events:
                self._events.append(event_id)

    def events(self, chance: random.Random, most: int) -> list[str]:
        """Events that were pending when somebody saw them."""
        with self._lock:
            return chance.sample(list(self._events), min(len(self._events), chance.randint(1, most)))

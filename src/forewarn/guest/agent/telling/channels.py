"""Telling people what happens to this VM, over every channel that wants to hear of it.

``tell`` never waits and never raises: each channel has a queue and a thread of its own.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from forewarn.guest.agent.keeping.lines import event_fields
from forewarn.guest.agent.telling.channel import Channel, ChannelManners, Pause
from forewarn.guest.agent.telling.logs import LOGGER_NAME, instant_text
from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.agent.telling.occasions import OCCASIONS, Occasion
from forewarn.guest.agent.telling.sending import USER_AGENT
from forewarn.guest.agent.values import Notification
from forewarn.guest.system.parts import System
from forewarn.terms import ScheduledEvent

__all__ = ["OCCASIONS", "Message", "Occasion", "Teller"]

_TRIES = 6  # with the pauses between them half a minute
_LOG = logging.getLogger(LOGGER_NAME)


@dataclass(frozen=True, slots=True)
class Message:
    """What is told. ``text`` is a sentence that can stand alone in a chat."""

    occasion: str
    vm: str
    text: str
    at: datetime
    event: ScheduledEvent

    @property
    def title(self) -> str:
        return f"{self.vm}: {self.event.type} {self.occasion}"

    def as_json(self) -> bytes:
        """With ``text`` on top, where the chat systems that take webhooks look for it."""
        told = {
            "text": f"{self.vm}: {self.text}",
            "occasion": self.occasion,
            "vm": self.vm,
            "at": instant_text(self.at),
            "event": event_fields(self.event),
        }
        return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")


class Teller:
    """All channels. ``now`` is the instant that messages carry."""

    def __init__(
        self,
        system: System,
        notifications: Iterable[Notification],
        vm: str,
        *,
        now: Callable[[], datetime],
        metrics: Metrics,
        pause: Pause | None = None,
    ) -> None:
        self._system = system
        self._vm = vm
        self._now = now
        self._last_at: datetime | None = None
        self._ending = system.threads.event()
        manners = ChannelManners(_LOG, metrics.told, _TRIES, USER_AGENT)
        self._channels = [Channel(system, each, manners, pause or self._ending.wait) for each in notifications]

    def tell(self, occasion: str, event: ScheduledEvent, text: str) -> None:
        """Put a message before every channel that wants to hear of the occasion.

        Messages carry instants that never go back, even where the region's clock was set back: they are an order.
        """
        wanted = [channel for channel in self._channels if channel.wants(occasion, OCCASIONS)]
        if wanted:
            now = self._now()
            self._last_at = now if self._last_at is None else max(now, self._last_at)
            message = Message(occasion, self._vm, text, self._last_at, event)
            for channel in wanted:
                channel.put(message)

    def close(self, patience_seconds: float = 5.0) -> None:
        """Let what waits go out for a while; then nothing is tried again."""
        for channel in self._channels:
            channel.finish()
        deadline = self._system.clock.monotonic() + patience_seconds
        for channel in self._channels:
            channel.join(max(0.0, deadline - self._system.clock.monotonic()))
        self._ending.set()

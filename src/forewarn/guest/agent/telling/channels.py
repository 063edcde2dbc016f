"""Telling people: each channel has its own short queue and thread, so neither a slow one nor a dead one is in the way.

``tell`` never waits and never raises. What cannot be delivered is tried again for a while, then given up and counted.
"""

from __future__ import annotations

import json
import logging
import queue
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from forewarn.guest.agent.keeping.lines import event_fields
from forewarn.guest.agent.telling.logs import LOGGER_NAME, instant_text
from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.agent.telling.occasions import OCCASIONS, Occasion
from forewarn.guest.agent.telling.sending import Undeliverable, send_by_apprise, send_by_webhook, shown_url
from forewarn.guest.agent.values import Notification
from forewarn.guest.backoff import Backoff
from forewarn.guest.system.parts import Queue, System, Thread
from forewarn.terms import ScheduledEvent

__all__ = ["OCCASIONS", "Message", "Occasion", "Teller"]

_WAITING_MOST = 100  # ours: messages of one channel during an outage; more are dropped, and counted
_TRIES = 6  # with the pauses below half a minute
_BACKOFF = Backoff(1.0, 60.0)  # 1, 2, 4, 8, 16 s: soon at first, then no load for a service in trouble
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


Send = Callable[[str, Message], None]
Pause = Callable[[float], bool]  # waits so long, or shorter when all shall end, which it then says


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
        self._channels = [_Channel(system, each, metrics, pause or self._ending.wait) for each in notifications]

    def tell(self, occasion: str, event: ScheduledEvent, text: str) -> None:
        """Put a message before every channel that wants to hear of the occasion.

        Messages carry instants that never go back, even where the region's clock was set back: they are an order.
        """
        wanted = [channel for channel in self._channels if channel.wants(occasion)]
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


class _Channel:
    """One notification of the file: its queue, its thread (from the first message on), its tries."""

    def __init__(self, system: System, target: Notification, metrics: Metrics, pause: Pause) -> None:
        self._system = system
        self._target = target
        self._metrics = metrics
        self._pause = pause
        self._waiting: Queue[Message | None] = system.threads.queue(_WAITING_MOST)
        self._thread: Thread | None = None
        self._send: Send = send_by_apprise if target.kind == "apprise" else send_by_webhook

    def wants(self, occasion: str) -> bool:
        """Whether the channel is to hear of it: channels take occasions only, not every remark."""
        return occasion in (self._target.on or OCCASIONS)

    def put(self, message: Message | None) -> None:
        """Queue a message; where too many wait, the oldest is dropped, since the newest says how things are."""
        while True:
            try:
                self._waiting.put(message)
                break
            except queue.Full:
                self._drop_oldest()
        if self._thread is None and message is not None:
            self._thread = self._system.threads.start(self._work, f"tell-{self._target.kind}")

    def _drop_oldest(self) -> None:
        try:
            self._waiting.get_nowait()
        except queue.Empty:
            return
        self._metrics.told(self._target.kind, "dropped")

    def finish(self) -> None:
        if self._thread is not None:
            self.put(None)

    def join(self, patience_seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(patience_seconds)

    def _work(self) -> None:
        while (message := self._waiting.get()) is not None:
            outcome = "sent" if self._deliver(message) else "failed"
            self._metrics.told(self._target.kind, outcome)

    def _deliver(self, message: Message) -> bool:
        where = f"{self._target.kind} {shown_url(self._target.url)}"
        problem = ""
        for number in range(_TRIES):
            try:
                self._send(self._target.url, message)
            except Undeliverable as why:
                problem = str(why)
                pause = _BACKOFF.seconds(number + 1, self._system.chance.random())
                if why.lasting or number == _TRIES - 1 or self._pause(pause):
                    break
            except Exception as why:
                problem = f"{type(why).__name__}"
                break
            else:
                return True
        _LOG.warning("%s was not told that %s: %s", where, message.title, problem)
        return False

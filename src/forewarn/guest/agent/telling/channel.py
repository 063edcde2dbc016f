"""One channel to people: its own short queue and thread, so neither a slow nor a dead one is in anybody's way.

What cannot be delivered is tried again for a while, then given up and counted. Agents and servers tell through it.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Collection
from dataclasses import dataclass

from forewarn.guest.agent.telling.sending import Sendable, Undeliverable, send_by_apprise, send_by_webhook, shown_url
from forewarn.guest.agent.values import Notification
from forewarn.guest.backoff import Backoff
from forewarn.guest.system.parts import Queue, System, Thread

_WAITING_MOST = 100  # ours: messages of one channel during an outage; more are dropped, and counted
_BACKOFF = Backoff(1.0, 60.0)  # 1, 2, 4, 8, 16 s: soon at first, then no load for a service in trouble

Pause = Callable[[float], bool]  # waits so long, or shorter when all shall end, which it then says


@dataclass(frozen=True)
class ChannelManners:
    """What the channels of one program share."""

    log: logging.Logger
    told: Callable[[str, str], None]  # counts: the kind of channel, and sent, failed or dropped
    tries: int
    user_agent: str


class Channel:
    """One notification of the file: its queue, its thread (from the first message on), its tries."""

    def __init__(self, system: System, target: Notification, manners: ChannelManners, pause: Pause) -> None:
        self._system = system
        self._target = target
        self._manners = manners
        self._pause = pause
        self._waiting: Queue[Sendable | None] = system.threads.queue(_WAITING_MOST)
        self._thread: Thread | None = None

    def wants(self, occasion: str, known: Collection[str]) -> bool:
        """Whether the channel is to hear of it: channels take occasions only, not every remark."""
        return occasion in (self._target.on or known)

    def put(self, message: Sendable | None) -> None:
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
        self._manners.told(self._target.kind, "dropped")

    def finish(self) -> None:
        if self._thread is not None:
            self.put(None)

    def join(self, patience_seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(patience_seconds)

    def _work(self) -> None:
        while (message := self._waiting.get()) is not None:
            outcome = "sent" if self._deliver(message) else "failed"
            self._manners.told(self._target.kind, outcome)

    def _deliver(self, message: Sendable) -> bool:
        where = f"{self._target.kind} {shown_url(self._target.url)}"
        problem = ""
        for number in range(self._manners.tries):
            try:
                if self._target.kind == "apprise":
                    send_by_apprise(self._target.url, message)
                else:
                    send_by_webhook(self._target.url, message, self._manners.user_agent)
            except Undeliverable as why:
                problem = str(why)
                pause = _BACKOFF.seconds(number + 1, self._system.chance.random())
                if why.lasting or number == self._manners.tries - 1 or self._pause(pause):
                    break
            except Exception as why:
                problem = f"{type(why).__name__}"
                break
            else:
                return True
        self._manners.log.warning("%s was not told that %s: %s", where, message.title, problem)
        return False

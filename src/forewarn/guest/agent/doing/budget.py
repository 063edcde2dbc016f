"""How long one piece of work may still take; another thread may shorten it, lengthen it, or call it off."""

from __future__ import annotations

from forewarn.guest.system.parts import System

_SLACK_SECONDS = 0.25  # ours: two threads count the same seconds and read the clock at different times


class Budget:
    """Given to the thread that works; kept by the one that decides."""

    def __init__(self, system: System, seconds: float, timeout_seconds: float | None = None) -> None:
        """``timeout_seconds`` is what the work itself may take at most, of which ``seconds`` may leave it less."""
        self._condition = system.threads.condition()
        self._monotonic = system.clock.monotonic
        self._began = self._monotonic()
        self._ends = self._began + max(0.0, seconds)
        self._timeout_seconds = timeout_seconds
        self._called_off = False

    def left(self) -> float:
        """The seconds that are left, never less than 0."""
        with self._condition:
            return 0.0 if self._called_off else max(0.0, self._ends - self._monotonic())

    @property
    def called_off(self) -> bool:
        return self._called_off

    def why_over(self) -> str:
        """Why work that has no time left was ended, behind its name."""
        timeout = self._timeout_seconds
        if self._called_off:
            return "was called off"
        if timeout is not None and self._ends - self._began >= timeout - _SLACK_SECONDS:
            return f"was ended by its own timeout of {timeout:g} s"
        return "took longer than there was time before the event"

    def set_left(self, seconds: float) -> None:
        with self._condition:
            self._ends = self._monotonic() + max(0.0, seconds)
            self._condition.notify_all()

    def call_off(self) -> None:
        with self._condition:
            self._called_off = True
            self._condition.notify_all()

    def pause(self, seconds: float) -> bool:
        """Wait so long, if there is so much; whether there is time left after it."""
        until = self._monotonic() + seconds
        with self._condition:
            while not self._called_off:
                now = self._monotonic()
                if now >= self._ends:
                    return False
                if now >= until:
                    return True
                self._condition.wait(min(until, self._ends) - now)
        return False

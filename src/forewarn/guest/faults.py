"""What can be wrong between a guest and its metadata service: a value for what is retried, errors for what is not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """Why one try gave nothing. ``lasting`` says that the same question will get the same answer."""

    reason: str
    status: int | None = None  # None: no HTTP answer at all
    lasting: bool = False
    retry_after_seconds: float = 0.0  # what the service asked for, if it did


class GuestError(Exception):
    """The metadata service did not do what was asked of it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason)
        self.fault = fault


class Unavailable(GuestError):  # noqa: N818 - it reads as what happened
    """No good answer came for as long as the caller was willing to wait. Later one may."""


class Refused(GuestError):  # noqa: N818 - it reads as what happened
    """The service said no, and would say it again. ``fault.status`` is its status."""


class Closed(Exception):  # noqa: N818 - it reads as what happened
    """The client was closed while this call was under way, or before."""

    def __init__(self) -> None:
        super().__init__("the client is closed")

"""What the two clients have in common: how they are told what to do, and what they know."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict

from forewarn.guest.endpoint import places
from forewarn.guest.exchange import Lost, Manners, ServiceLine, TellFault
from forewarn.guest.faults import Fault
from forewarn.guest.session import Session
from forewarn.guest.system import DhcpFailed, this_machine

if TYPE_CHECKING:
    from forewarn.guest.system.parts import System

_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
OnFault = Callable[[Fault, float], None]


class Haste(TypedDict, total=False):
    """The arguments of a ``SansIoClient`` that say how long it waits."""

    patience_seconds: float
    first_timeout_seconds: float
    timeout_seconds: float


def hasty(patience_seconds: float) -> Haste:
    """Settings of a client for one call with a person waiting: it gives up, answers included, after so long."""
    return {
        "patience_seconds": patience_seconds,
        "first_timeout_seconds": patience_seconds,
        "timeout_seconds": min(patience_seconds, Manners.timeout_seconds),
    }


class SansIoClient:
    """A guest of the metadata service, without a way to reach it: ``Client`` and ``AsyncClient`` have one each."""

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        api_version: str = Manners.api_version,
        timeout_seconds: float = Manners.timeout_seconds,
        first_timeout_seconds: float = Manners.first_timeout_seconds,
        patience_seconds: float = Manners.patience_seconds,
        poll_seconds: float = Manners.poll_seconds,
        wait_seconds: int = Manners.wait_seconds,
        retry_seconds: float = Manners.first_backoff_seconds,
        on_fault: OnFault | None = None,
        system: System | None = None,
    ) -> None:
        """``endpoint`` is an address or a URL; without one it is looked for (see ``endpoint.places``).

        A call tries for ``patience_seconds``, the first time again after ``retry_seconds``. Streams look every
        ``poll_seconds`` where the server does not hold answers back for ``wait_seconds``.

        ``on_fault`` hears of every try that failed, and in how many seconds the next will be made; 0 is for what was
        made good at once, and for what should be put right in the set-up. ``system`` is this machine unless another
        is given, which only a simulation does.
        """
        if not _VERSION.fullmatch(api_version):
            raise ValueError(f"{api_version!r} is no api-version; write it like {Manners.api_version}.")
        manners = Manners(
            api_version=api_version,
            timeout_seconds=timeout_seconds,
            first_timeout_seconds=max(first_timeout_seconds, timeout_seconds),
            patience_seconds=patience_seconds,
            poll_seconds=poll_seconds,
            wait_seconds=wait_seconds,
            first_backoff_seconds=retry_seconds,
        )
        self._system = system or this_machine()
        found = places(endpoint, self._system.environment)
        self._session = Session(ServiceLine(found, manners, self._system.clock, self._system.chance))
        self._on_fault = on_fault
        if found.doubt and on_fault is None:
            warnings.warn(found.doubt, FutureWarning, stacklevel=2)
        elif found.doubt:
            self._report(TellFault(Fault(found.doubt)))
        self._set_up()

    def _set_up(self) -> None:
        """Where a client makes what it needs to reach the service."""

    @property
    def asks(self) -> str:
        """The service's address, given or found; before that, the places where it is looked for, in words."""
        return self.endpoint or str(self._session.line.places)

    @property
    def endpoint(self) -> str | None:
        """Where the service is; None until it was found."""
        found = self._session.line.endpoint
        return None if found is None else str(found)

    @property
    def api_version(self) -> str:
        """The version in use: an older one than asked for where the host knows no newer."""
        return self._session.versions.current

    def _ask_dhcp(self, transaction: int) -> str | Lost:
        try:
            return self._system.sockets.ask_dhcp(transaction)
        except DhcpFailed as problem:
            return Lost(str(problem), lasting=problem.lasting)
        except OSError as problem:
            return Lost(f"DHCP: {problem}")

    def _report(self, report: TellFault) -> None:
        if self._on_fault is not None:
            self._on_fault(report.fault, report.retry_seconds)

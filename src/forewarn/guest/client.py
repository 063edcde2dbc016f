"""The client for programs that wait: plain sockets, no threads of its own, usable from several."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TypeVar, cast

from forewarn.guest.connections import KeptConnections
from forewarn.guest.exchange import Action, AskDhcp, Exchange, Give, Outcome, Send, Sleep, TellFault
from forewarn.guest.faults import Closed
from forewarn.guest.instance import Instance
from forewarn.guest.reading import Reading
from forewarn.guest.sans_io import SansIoClient
from forewarn.guest.watch import Change, Watcher
from forewarn.terms import Document

_T = TypeVar("_T")


class Client(SansIoClient):
    """Scheduled Events from inside the VM.

    Several threads may use one client: while one is in ``watch``, another can ``approve``. ``close`` may be called
    from any; it ends streams, and calls that are under way with ``Closed``.
    """

    # What it can do

    def document(self) -> Document | None:
        """What is scheduled or under way in this VM's scope; None where the service answers and tells nothing.

        Takes up to two minutes the first time. Raises ``Unavailable`` or ``Refused``.
        """
        return self._run(self._session.document())

    def approve(self, *event_ids: str) -> None:
        """Let these events start now, for all the VMs they name. Raises ``Unavailable`` or ``Refused``.

        That it returns means that the service took the approval; the event starts when everybody else's is there.
        """
        self._run(self._session.approve(event_ids))

    def instance(self) -> Instance:
        """Who this VM is."""
        return self._run(self._session.instance())

    def watch(self, watcher: Watcher | None = None) -> Iterator[Change]:
        """What happens to the events of this VM's scope, as it happens, for ever. Faults are waited out."""
        stream = self._stream(self._session.changes(watcher or Watcher()))
        return cast(Iterator[Change], stream)

    def readings(self) -> Iterator[Reading]:
        """Every look at the document, for ever, faults among them: what ``watch`` is made of."""
        return cast(Iterator[Reading], self._stream(self._session.readings()))

    def close(self) -> None:
        """Hang up. For good."""
        self._connections.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # How it does it

    def _set_up(self) -> None:
        self._connections = KeptConnections(self._system)

    def _run(self, exchange: Exchange[_T]) -> _T:
        outcome: Outcome = None
        while True:
            try:
                action = exchange.send(outcome)
            except StopIteration as end:
                return cast(_T, end.value)
            outcome = self._do(action)

    def _stream(self, exchange: Exchange[None]) -> Iterator[object]:
        outcome: Outcome = None
        while True:
            action = exchange.send(outcome)
            outcome = None
            if isinstance(action, Give):
                yield action.item
                continue
            try:
                outcome = self._do(action)
            except Closed:
                return

    def _do(self, action: Action) -> Outcome:
        match action:
            case Send():
                return self._connections.send(action)
            case Sleep(seconds):
                self._connections.wait(seconds)
            case AskDhcp(transaction):
                return self._ask_dhcp(transaction)
            case TellFault():
                self._report(action)
            case Give():
                raise AssertionError("a single call gives nothing but its end")
        return None

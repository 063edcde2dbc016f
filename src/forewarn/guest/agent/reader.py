"""The thread that reads: the VM's name, then the document, again and again. It decides nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from forewarn.guest.agent.inbox import Inbox, Looked, Named, Stop
from forewarn.guest.agent.telling.reporting import LOG
from forewarn.guest.agent.values import AgentConfig
from forewarn.guest.backoff import Backoff
from forewarn.guest.client import Client
from forewarn.guest.faults import Closed, Fault, GuestError
from forewarn.guest.instance import Instance, doubt_about, own_name
from forewarn.guest.reading import Reading
from forewarn.guest.sans_io import Haste, hasty
from forewarn.guest.system.parts import System

_UNNAMED = Backoff(1.0, 30.0)  # as Manners' back-off is for reads: a service that does not say who we are

MakeClient = Callable[..., Client]


class Reader:
    """Its client is used for approvals too. ``patience_seconds``: how long it goes on trying; None is the usual."""

    def __init__(
        self,
        system: System,
        config: AgentConfig,
        inbox: Inbox,
        patience_seconds: float | None = None,
        client: MakeClient = Client,
    ) -> None:
        self._system = system
        self._given = config.name
        self._inbox = inbox
        self._closed = system.threads.event()
        self._named = False
        haste: Haste = {} if patience_seconds is None else hasty(patience_seconds)
        endpoint, poll_seconds = config.endpoint or None, config.poll_seconds
        self.client = client(endpoint, system=system, poll_seconds=poll_seconds, on_fault=self._failed, **haste)

    def start(self) -> None:
        LOG.info("asking %s", self.client.asks)
        self._system.threads.start(self._work, "reader")

    def close(self) -> None:
        self._closed.set()
        self.client.close()

    def _work(self) -> None:
        try:
            name = self._find_name()
            if name is None:
                return
            self._named = True
            self._inbox.put(Named(name))
            for reading in self.client.readings():
                self._inbox.put(Looked(reading, self._system.clock.monotonic()))
        except Closed:
            return
        except Exception as problem:
            LOG.exception("reading has broken")
            self._inbox.put(Stop(f"reading has broken: {problem}", status=1))

    def _find_name(self) -> str | None:
        """A name that was given is used even when the service does not tell one; it may only be doubted."""
        if self._given.strip():
            self._system.threads.start(self._doubt, "doubt")
            return self._given.strip()
        tries = 0
        while not self._closed.is_set():
            try:
                return own_name("", self.client.instance())
            except GuestError as problem:
                self._fault(problem.fault)
            tries += 1
            self._closed.wait(_UNNAMED.seconds(tries))
        return None

    def _doubt(self) -> None:
        instance: Instance | None = None
        with suppress(GuestError, Closed):
            instance = self.client.instance()
        doubt = doubt_about(self._given, instance) if instance is not None else None
        if doubt is not None:
            LOG.warning("%s", doubt)

    def _failed(self, fault: Fault, retry_seconds: float) -> None:
        """Report a failed try that the client will repeat.

        Failed reads of the document come with ``readings``, not here.
        """
        if retry_seconds == 0:
            LOG.warning("%s", fault.reason)
        elif not self._named:
            self._fault(fault)

    def _fault(self, fault: Fault) -> None:
        self._inbox.put(Looked(Reading(self._system.clock.now(), fault=fault), self._system.clock.monotonic()))

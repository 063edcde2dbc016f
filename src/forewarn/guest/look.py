"""One look for a person who waits: the VM's name and its document, or why not, within so many seconds."""

from __future__ import annotations

import queue
from dataclasses import dataclass
from datetime import datetime

from forewarn.guest.client import Client
from forewarn.guest.faults import Closed, GuestError
from forewarn.guest.system import this_machine
from forewarn.guest.system.parts import Queue
from forewarn.terms import Document


@dataclass(frozen=True, slots=True)
class LookResult:
    """What was found."""

    name: str
    document: Document
    at: datetime  # the service's time


def look_once(client: Client, given_name: str, patience_seconds: float) -> LookResult | str:
    """The look, or in words why there is none. Closes the client.

    In a thread of its own: asking the network for the service (DHCP) cannot be cut short, only left behind.
    """
    threads = this_machine().threads
    found: Queue[LookResult | str] = threads.queue()
    reason = "no answer"

    def work() -> None:
        nonlocal reason
        try:
            name = given_name or client.instance().name
            for reading in client.readings():
                if reading.document is not None:
                    found.put(LookResult(name, reading.document, reading.at))
                    return
                reason = reading.fault.reason if reading.fault else "it answers and tells nothing"
                if reading.fault is not None and reading.fault.lasting:
                    break
        except GuestError as problem:
            reason = str(problem)
        except Closed:
            return
        found.put(reason)

    threads.start(work, "look")
    try:
        return found.get(timeout=patience_seconds)
    except queue.Empty:
        return reason
    finally:
        client.close()

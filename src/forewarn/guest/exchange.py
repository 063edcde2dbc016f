"""The sans-I/O middle of the clients: it decides everything, and moves no bytes.

A call is a generator that yields what to do next and is sent what came of it. ``client`` carries that out with sockets,
``aio`` with asyncio; neither makes a decision.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from forewarn import __version__
from forewarn.guest.backoff import Backoff
from forewarn.guest.endpoint import Endpoint, Places
from forewarn.guest.faults import Fault
from forewarn.guest.http1 import OutgoingRequest, Response
from forewarn.guest.versions import Ladder, refuses_version

if TYPE_CHECKING:
    from forewarn.guest.system.parts import Chance, MachineClock

_T = TypeVar("_T")

# Ours: an address that moved is found within a minute, and a network without an answer is not flooded
DHCP_AGAIN_SECONDS = 60.0
_RETRY_AFTER_MOST = 60.0  # ours: no service may talk a client into missing a notice of minutes
_MOST_KEPT = 3  # one more than connections are kept idle: each may have been closed by the server
# Azure documents 404, 410 and 429 as passing; 408 and 425 mean "again" by RFC 9110 and 8470
_TRANSIENT = frozenset({404, 408, 410, 425, 429})


@dataclass(frozen=True)
class Manners:
    """How a client behaves. Without slots: its defaults are read off the class."""

    api_version: str = "2020-07-01"
    connect_seconds: float = 5.0  # Linux sends a SYN again after 1 and 3 s: two lost packets are survived
    timeout_seconds: float = 10.0  # ours, for one answer: ten times what a poll may be late by
    first_timeout_seconds: float = 130.0  # Azure documents up to two minutes for the first answer
    patience_seconds: float = 180.0  # ours: how long a call goes on trying; the first answer and one more try
    poll_seconds: float = 1.0
    # How long a server that can may hold an answer back: below usual proxies' 60 s; 0 asks for none of it
    wait_seconds: int = 30
    least_gap_seconds: float = 0.2  # Azure allows five questions a second
    first_backoff_seconds: float = 0.5  # half of the usual poll
    longest_backoff_seconds: float = 8.0  # a Preempt may leave no more than thirty


# What a shell is told to do


@dataclass(frozen=True, slots=True)
class Send:
    """Put the question to the endpoint; tell the ``Response``, or that it was ``Lost``."""

    endpoint: Endpoint
    request: OutgoingRequest
    connect_seconds: float
    answer_seconds: float


@dataclass(frozen=True, slots=True)
class AskDhcp:
    """Ask the network for the endpoint; tell the address, or that it was ``Lost``."""

    transaction: int


@dataclass(frozen=True, slots=True)
class Sleep:
    """Sleep."""

    seconds: float


@dataclass(frozen=True, slots=True)
class TellFault:
    """Tell ``on_fault`` that a try failed and when the next will be made; 0 where it was made good at once."""

    fault: Fault
    retry_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Give:
    """Hand the next item of a stream to the caller."""

    item: object


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer."""

    reason: str
    kept: bool = False  # on a connection kept from an earlier question, which the server may just have closed
    timed_out: bool = False
    lasting: bool = False  # of DHCP: asking again gives the same

    @classmethod
    def by(cls, problem: Exception, seconds: float, *, kept: bool = False) -> Lost:
        """What a shell tells when it was put off by this while it waited for so long."""
        if isinstance(problem, TimeoutError):
            return cls(f"no answer within {seconds:g} s", timed_out=True)
        reason = _words(problem) if isinstance(problem, OSError) else str(problem)
        return cls(reason or type(problem).__name__, kept=kept)


def _words(problem: OSError) -> str:
    """What the system calls an error."""
    if problem.errno is None or problem.errno <= 0:
        return str(problem)
    if sys.platform == "win32":
        from forewarn.error_words import error_words

        return error_words(problem).lower()
    return os.strerror(problem.errno).lower()


Action = Send | AskDhcp | Sleep | TellFault | Give
Outcome = Response | Lost | str | None
Exchange = Generator[Action, Outcome, _T]
Ask = Callable[[str], OutgoingRequest]  # from an api-version


class ServiceLine:
    """The way to the service: where it is, which versions its host knows, how long its answers may take.

    All of it is learned on the way and shared by the calls of one client, which may run at the same time.
    """

    def __init__(self, places: Places, manners: Manners, clock: MachineClock, chance: Chance) -> None:
        self.manners = manners
        self.clock = clock
        self.chance = chance
        self.places = places
        self.endpoint: Endpoint | None = None if places.dhcp else places.endpoints[0]
        self._answer_seconds = manners.first_timeout_seconds
        self._dhcp_again_at = float("-inf")
        self._dhcp_failed = Lost("")

    def attempt(self, ask: Ask, ladder: Ladder, *, held_seconds: float = 0.0) -> Exchange[Response | Fault]:
        """One try: a good answer, or what was wrong. Falls back to older api-versions on the way."""
        response: Response | Lost = Lost("")
        for version in ladder.downwards(self.clock.monotonic()):
            request = ask(version)
            response = yield from self._deliver(request, held_seconds)
            if isinstance(response, Lost):
                return Fault(response.reason)
            if not refuses_version(request, response):
                if ladder.stand_on(version, self.clock.monotonic()) and not ladder.is_preferred:
                    yield TellFault(_older_version(version))
                break
        assert isinstance(response, Response), "there is at least one version to try"
        return response if _is_good(response) else _fault_of(response)

    def backoff_seconds(self, fault: Fault, tries: int) -> float:
        """Exponential, with jitter."""
        manners = self.manners
        longest = manners.longest_backoff_seconds if not fault.lasting else 4 * manners.longest_backoff_seconds
        pause = Backoff(manners.first_backoff_seconds, longest).seconds(tries, self.chance.random())
        return max(pause, fault.retry_after_seconds)

    # One question

    def _deliver(self, request: OutgoingRequest, held_seconds: float) -> Exchange[Response | Lost]:
        if self.endpoint is not None:
            return (yield from self._send(self.endpoint, request, held_seconds))
        return (yield from self._discover(request, held_seconds))

    def _send(self, endpoint: Endpoint, request: OutgoingRequest, held_seconds: float) -> Exchange[Response | Lost]:
        answer_seconds = self._answer_seconds + held_seconds
        send = Send(endpoint, request, self.manners.connect_seconds, answer_seconds)
        outcome = yield send
        for _ in range(_MOST_KEPT):
            if not isinstance(outcome, Lost) or not outcome.kept:
                break
            outcome = yield send  # at once: our questions may be put twice, reads and approvals alike
        assert isinstance(outcome, Response | Lost)
        if isinstance(outcome, Response):
            self._answer_seconds = self.manners.timeout_seconds
        elif outcome.timed_out:
            self._answer_seconds = min(self._answer_seconds * 2, self.manners.first_timeout_seconds)
        return outcome

    # Where the service is

    def _discover(self, request: OutgoingRequest, held_seconds: float) -> Exchange[Response | Lost]:
        """The first place that answers as a metadata service is the one, for good."""
        failures: list[str] = []
        answered: Response | None = None
        for endpoint in self.places.endpoints:
            outcome = yield from self._send(endpoint, request, held_seconds)
            if isinstance(outcome, Response) and outcome.status != 404:
                self.endpoint = endpoint
                return outcome
            if isinstance(outcome, Response):  # perhaps another cloud's service, perhaps this one on a bad day
                answered = answered or outcome
            else:
                failures.append(f"{endpoint}: {outcome.reason}")
        outcome = yield from self._by_dhcp(request, held_seconds)
        if isinstance(outcome, Response):
            return outcome
        return answered or Lost("; ".join((*failures, outcome.reason)))

    def _by_dhcp(self, request: OutgoingRequest, held_seconds: float) -> Exchange[Response | Lost]:
        """Ask by DHCP, at most once a minute: it takes seconds, and every DHCP server of the network hears it."""
        if self.clock.monotonic() < self._dhcp_again_at:
            return self._dhcp_failed
        told = yield AskDhcp(self.chance.getrandbits(32))
        if not isinstance(told, str):
            assert isinstance(told, Lost)
            self._dhcp_failed = told
            self._dhcp_again_at = self.clock.monotonic() + (float("inf") if told.lasting else DHCP_AGAIN_SECONDS)
            return told
        endpoint = Endpoint(told)
        outcome = yield from self._send(endpoint, request, held_seconds)
        if isinstance(outcome, Lost):
            return Lost(f"{endpoint}, told by DHCP: {outcome.reason}")
        self.endpoint = endpoint
        return outcome


COMMON_HEADERS: Final = (("Metadata", "true"), ("User-Agent", f"forewarn-guest/{__version__}"))


def _is_good(response: Response) -> bool:
    return 200 <= response.status < 300 or response.status == 304


def _fault_of(response: Response) -> Fault:
    said = " ".join(response.body[:300].decode("utf-8", "replace").split())
    transient = response.status in _TRANSIENT or response.status >= 500
    return Fault(
        f"the metadata service answered {response.status}" + (f": {said}" if said else ""),
        status=response.status,
        lasting=not transient,
        retry_after_seconds=_retry_after(response.headers.get("retry-after", "")),
    )


def _retry_after(text: str) -> float:
    """In seconds; dates, which no metadata service has been seen to send here, are not understood."""
    return min(float(text), _RETRY_AFTER_MOST) if text.isdecimal() and len(text) < 9 else 0.0


def _older_version(version: str) -> Fault:
    return Fault(
        f"the host does not know the newest api-version and is read with {version}: events and fields that came later "
        "do not show"
    )

"""One connection: bytes in, answers out in the order of the questions; all that it keeps for its client is bounded.

What may happen in which state is the table of ``connection_states``; ``docs/connections.md`` draws it. While a
connection is *resting*, the same bytes as last time are the same question as last time, and are answered without
parsing them; so are bytes that ``answering.recall`` knows. That path changes no state.

On Linux a connection first goes the short way of ``lane``, and comes here with a ``Beginning`` when that ends.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Final, cast

from forewarn.web.metadata.answering.cache import STATUS, Reply, reply_to
from forewarn.web.metadata.answering.outcomes import Dropped, Later, Outcome, RememberedAnswer
from forewarn.web.metadata.answering.recall import NOTHING_KNOWN
from forewarn.web.metadata.asking.callers import Caller, Entrance
from forewarn.web.metadata.asking.request import Request
from forewarn.web.metadata.http.connection_states import LEAVING, LONGEST, ConnectionState, Trigger, after
from forewarn.web.metadata.http.lane import Beginning
from forewarn.web.metadata.http.requests import Arrival, Continue, RequestReader, Spoiled
from forewarn.web.metadata.http.roster import Connections
from forewarn.web.metadata.service import Service
from forewarn.web.metadata.settings import Limits
from forewarn.web.signals import request_log
from forewarn.web.signals.request_log import LoggedAnswer
from forewarn.wire.errors import error

# Looked at or moved by for every request. As globals: a member of an enumeration costs a call of Python in 3.11.
_RESTING: Final = ConnectionState.RESTING
_OWING: Final = ConnectionState.OWING
_FINISHING: Final = ConnectionState.FINISHING
_ARRIVED: Final = Trigger.ARRIVED
_BEGUN: Final = Trigger.BEGUN
_ANSWERED: Final = Trigger.ANSWERED

_HEAD_ENDS: Final = b"\r\n\r\n"
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_FULL: Final = reply_to(error(503, "Service unavailable. There are too many connections"))


class Connection(asyncio.Protocol):
    """Back-pressure: reading stops while too many answers are owed, or while the client does not take those it has."""

    def __init__(
        self,
        service: Service,
        entrance: Entrance,
        limits: Limits,
        roster: Connections,
        beginning: Beginning | None = None,
    ) -> None:
        self._service = service
        self._again = service.reading.again
        self._recall = service.memory.recall
        self._known_here = NOTHING_KNOWN  # what is known of this caller by its bytes, since a request of it was kept
        self._entrance = entrance
        self._limits = limits
        self._roster = roster
        self._reader = RequestReader(limits)
        self._beginning = beginning
        self._unread = bytearray()  # what has come and waits until fewer answers are owed; taken from the front
        self._owed: deque[Arrival] = deque()
        self._waits_for_turn = False
        self._state = _RESTING
        self._known: RememberedAnswer | None = None
        self._known_bytes = b""
        self._chunk = b""  # the bytes of the one request that is owed, where they may be worth remembering
        self._task: asyncio.Task[None] | None = None
        self._later: Later | None = None
        self.origin = ""  # whose share of connections and turns it takes, where its network tells
        self._writable = True
        self._reading = True
        self._unsent = 0  # what the last sweep found to be written still
        self._waited = 0.0  # how long the client has kept us waiting, as far as the sweeps have seen

    # Of the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast("asyncio.Transport", transport)  # uvloop's own are no subclasses
        peer, local = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self._caller = Caller.at(self._entrance, _host(peer), _host(local))
        self.origin = self._service.share_of(self._caller)
        descriptor = _descriptor(transport)
        if self._beginning is not None and self._beginning.release is not None:
            self._beginning.release()
        if not self._roster.enter(self, descriptor):
            self._refuse(_FULL)
            if self._roster.has_plenty(descriptor):
                self._linger()
            else:
                self._close()
        elif self._beginning is not None:
            self._take_over(self._beginning)

    def _take_over(self, beginning: Beginning) -> None:
        """Go on where the short way has stopped. Bytes that come before ``_begin`` belong behind what was read."""
        if beginning.unsent:
            self._transport.write(beginning.unsent)
        if beginning.is_last:
            self._close()
        elif beginning.request:
            self._unread += beginning.request
            self._move(_ARRIVED)
            asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self) -> None:
        """Take the request that the lane has read. Called once the transport is made: before, it may not pause."""
        if self._unread and self._state not in LEAVING:
            first = bytes(self._unread)
            self._unread.clear()
            self._take(first, begins=True)

    def data_received(self, data: bytes) -> None:
        if self._state is _RESTING:
            known = self._known if data == self._known_bytes else self._known_here.get(data)
            known = known or self._recall(self._caller, data)
            if known is not None and (answer := self._again(known)) is not None:
                self._waited = 0.0
                self._transport.write(answer)
                if known.is_last:
                    self._close()
                return
        if self._state not in LEAVING:
            self._take(data)

    def eof_received(self) -> bool:
        """A client may stop talking and still listen; one that waited for news gets what there is."""
        if self._state in LEAVING:
            return False
        self._end()
        return bool(self._owed or self._unread or self._task)  # if not, the transport sends what it has and closes

    def pause_writing(self) -> None:
        self._writable = False
        self._move(Trigger.FULL)
        self._regulate()

    def resume_writing(self) -> None:
        self._writable = True
        self._waited = 0.0
        self._move(Trigger.DRAINED)
        if self._state is _OWING and self._task is not None:
            self._move(Trigger.DEFERRED)
        self.work(1)

    def connection_lost(self, exc: Exception | None) -> None:
        self._move(Trigger.LOST)
        self._owed.clear()
        self._deafen()
        self._known = None
        self._roster.leave(self)
        if self._task is not None:
            self._task.cancel()

    def _move(self, trigger: Trigger) -> None:
        self._state = after(self._state, trigger)

    # Of the roster

    def sweep(self, seconds: float) -> None:
        """Called by the timer. Ends a connection whose client keeps us waiting for longer than its state allows."""
        self._waited += seconds
        state = self._state
        if state is ConnectionState.WORKING:
            self._waited = 0.0
        if state not in LONGEST:
            return
        if not self._writable or state in LEAVING or state is _FINISHING:
            self._note_progress()
        longest: float = getattr(self._limits, LONGEST[state])
        if self._waited >= longest:
            self._run_out_of_patience(state)

    def _run_out_of_patience(self, state: ConnectionState) -> None:
        if state is ConnectionState.RESTING:
            self._close()
        elif state is ConnectionState.RECEIVING:
            self._owe(self._reader.give_up())
            self.work(1)
        else:
            self._transport.abort()

    def hang_up(self) -> None:
        """The server closes: answer what is owed, read nothing new."""
        self._deafen()
        if self._state not in LEAVING:
            self._end()
        if self._task is None and not self._owed:
            self._transport.close()

    def _end(self) -> None:
        """The client sends nothing more. A held GET is answered with the document as it is."""
        self._move(Trigger.ENDED)
        if self._later is not None:
            self._later.patience.end()

    def abort(self) -> None:
        self._transport.abort()

    def _note_progress(self) -> None:
        """A client that takes its answers slowly is not one that takes none: its time begins anew."""
        unsent = self._transport.get_write_buffer_size()
        if unsent < self._unsent:
            self._waited = 0.0
        self._unsent = unsent

    # Requests

    def _take(self, data: bytes, *, begins: bool = False) -> None:
        was_resting = begins or self._state is _RESTING
        self._unread += data
        self._read_on()
        if was_resting and self._reader.partial:
            self._waited = 0.0
            if not self._owed and self._state is not _FINISHING:
                self._move(_BEGUN)
        memorable = was_resting and len(self._owed) == 1 and not self._reader.partial
        self._chunk = data if memorable and len(data) <= self._limits.remembered_bytes else b""
        self.work(1)

    def _read_on(self) -> None:
        """Take apart what has come, head by head, and only as much as is answered soon."""
        while self._unread and len(self._owed) < self._limits.queued_requests:
            most = self._limits.remembered_bytes
            end = self._unread.find(_HEAD_ENDS, 0, most)
            size = most if end < 0 else end + len(_HEAD_ENDS)
            portion = bytes(self._unread[:size])
            del self._unread[:size]
            self._owe(self._reader.feed(portion))

    def _owe(self, arrivals: list[Arrival]) -> None:
        if arrivals:
            self._waited = 0.0
            self._owed.extend(arrivals)
            self._move(_ARRIVED)

    @property
    def party(self) -> Hashable:
        """What the turns are counted by: the VM where its network tells which it is, else this connection."""
        return self.origin or self

    def take_turn(self, at_most: int) -> int:
        """It is our turn again."""
        self._waits_for_turn = False
        return self.work(at_most)

    def work(self, at_most: int) -> int:
        """Give so many of the answers that can be given now. The rest has to wait for its turn."""
        given = 0
        while self._may_answer() and given < at_most:
            self._meet(self._owed.popleft())
            given += 1
            self._read_on()
        if self._may_answer():
            if not self._waits_for_turn:
                self._waits_for_turn = True
                self._roster.turns.wait(self)
        elif not self._owed:
            self._rest()
        self._regulate()
        return given

    def _rest(self) -> None:
        """Nothing is owed."""
        if self._state is _OWING:
            self._move(_BEGUN if self._reader.partial else _ANSWERED)
        elif self._state is _FINISHING and self._task is None:
            self._close()

    def _may_answer(self) -> bool:
        if not self._owed:
            return False
        if self._state is _FINISHING:
            return self._task is None and self._writable
        return self._state is _OWING

    def _meet(self, arrival: Arrival) -> None:
        match arrival:
            case Request():
                self._settle(arrival, self._service.respond(arrival, self._caller))
            case Spoiled(answer=answer):
                self._refuse(reply_to(answer))
                self._linger()
            case Continue():
                self._transport.write(_CONTINUE)

    def _settle(self, request: Request, outcome: Outcome) -> None:
        match outcome:
            case Reply():
                self._reply(request, outcome)
            case RememberedAnswer(reply=reply):
                if self._chunk and not request.http_1_0:
                    outcome.is_last = not request.keep_alive
                    outcome.say(reply)
                    self._known, self._known_bytes = outcome, self._chunk
                    self._known_here = self._service.memory.keep(self._caller, self._chunk, outcome)
                outcome.cell.n += 1
                self._reply(request, reply, counted=True)
            case Later():
                if self._state is _FINISHING:  # the client has said all, and gets what there is
                    outcome.patience.end()
                self._move(Trigger.DEFERRED)
                self._later = outcome
                self._task = asyncio.get_running_loop().create_task(self._carry_out(request, outcome))
            case Dropped():
                self._move(Trigger.DONE)
                self._transport.abort()

    async def _carry_out(self, request: Request, later: Later) -> None:
        outcome = await self._service.carry_out(later)
        self._task = self._later = None
        if self._state not in LEAVING:
            self._move(Trigger.READY)
            self._settle(request, outcome)
            self.work(1)

    def _reply(self, request: Request, reply: Reply, counted: bool = False) -> None:
        if request.verb == b"HEAD":
            reply = reply.without_body()
        if not request.keep_alive:
            reply = reply.with_field("Connection", "close")
        elif request.http_1_0:
            reply = reply.with_field("Connection", "keep-alive")
        response = self._send(reply)
        if not counted:
            self._service.answers.note_reply(request.verb, reply.before[STATUS])
        if self._service.logs_requests:
            self._log(request, response)
        if request.oversized:
            self._linger()
        elif not request.keep_alive:
            self._close()

    def _send(self, reply: Reply) -> bytes:
        response = self._service.signer.finish(reply)
        self._transport.write(response)
        return response

    def _refuse(self, reply: Reply) -> None:
        """The last answer, to what is no request or too much."""
        self._service.answers.note_reply(b"", reply.before[STATUS])
        self._send(reply.with_field("Connection", "close"))

    def _log(self, request: Request, response: bytes) -> None:
        request_log.tell(
            LoggedAnswer(
                face="metadata",
                method=request.verb.decode("latin-1"),
                target=request.target.decode("latin-1"),
                status=int(response[STATUS]),
                caller=self._caller.claims[0].removeprefix("address "),
                vm=self.origin,
                request_id=request_log.request_id_in(response),
                traceparent=dict(request.fields).get(b"traceparent", b"").decode("latin-1"),
            )
        )

    def _close(self) -> None:
        self._move(Trigger.DONE)
        self._deafen()
        self._transport.close()

    def _linger(self) -> None:
        """Closing at once could destroy our last answer on its way, while the client still sends."""
        self._move(Trigger.LAST_SENT)
        self._waited = 0.0
        self._deafen()
        self._transport.write_eof()

    def _deafen(self) -> None:
        """Nothing more is read as a request."""
        self._reader.close()
        self._unread.clear()

    def _regulate(self) -> None:
        """Stop or resume reading (back-pressure).

        A client that waits for its answer is read on, so that its leaving is noticed.
        """
        reading = self._state in LEAVING or (self._writable and len(self._owed) < self._limits.queued_requests)
        if reading is self._reading or self._transport.is_closing():
            return
        self._reading = reading
        (self._transport.resume_reading if reading else self._transport.pause_reading)()


def _descriptor(transport: asyncio.Transport) -> int:
    """The number of its descriptor; -1 where it has none."""
    found = transport.get_extra_info("socket")
    return -1 if found is None else int(found.fileno())


def _host(address: object) -> str:
    """The host of a socket address; a client that is gone before we looked has none."""
    return str(address[0]) if isinstance(address, tuple) and address else ""

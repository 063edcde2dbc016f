"""The life of a connection, as a table. ``docs/connections.md`` draws its diagram from here.

``Connection`` keeps one of these states and changes it only by ``after``, so what the table does not list cannot happen
unnoticed.
"""

from __future__ import annotations

from enum import StrEnum


class ConnectionState(StrEnum):
    """Where a connection is. The value is the name in the diagram."""

    RESTING = "resting"  # nothing of a request has come and nothing is owed: bytes known from before need no parsing
    RECEIVING = "receiving"  # a request has begun to come and nothing is owed
    OWING = "owing"  # something has come that is answered next
    WORKING = "working"  # an answer is being made: it waits for the journal, for news or for a delay
    BLOCKED = "blocked"  # the client does not take its answers, and gets no more until it does
    FINISHING = "finishing"  # nothing more will come, and what is owed is still answered and sent
    LINGERING = "lingering"  # the last answer is sent; closing at once could destroy it while the client still sends
    CLOSING = "closing"  # the transport sends what it has and closes
    CLOSED = "closed"


class Trigger(StrEnum):
    """What happens to a connection. The value is the label in the diagram."""

    BEGUN = "a request has begun"
    ARRIVED = "something to answer"
    DEFERRED = "answer takes time"
    READY = "answer ready"
    ANSWERED = "all answered"
    FULL = "answers not taken"
    DRAINED = "answers taken"
    ENDED = "client ended, or server closes"
    LAST_SENT = "last answer, client may still send"
    DONE = "nothing left to do"
    LOST = "connection lost"


_S, _T = ConnectionState, Trigger

# state -> what may happen there -> state after. What is not listed cannot happen.
TRANSITIONS: dict[ConnectionState, dict[Trigger, ConnectionState]] = {
    _S.RESTING: {
        _T.BEGUN: _S.RECEIVING,
        _T.ARRIVED: _S.OWING,
        _T.FULL: _S.BLOCKED,
        _T.ENDED: _S.FINISHING,
        _T.LAST_SENT: _S.LINGERING,
        _T.DONE: _S.CLOSING,
        _T.LOST: _S.CLOSED,
    },
    _S.RECEIVING: {
        _T.ARRIVED: _S.OWING,
        _T.FULL: _S.BLOCKED,
        _T.ENDED: _S.FINISHING,
        _T.LOST: _S.CLOSED,
    },
    _S.OWING: {
        _T.ARRIVED: _S.OWING,
        _T.DEFERRED: _S.WORKING,
        _T.BEGUN: _S.RECEIVING,
        _T.ANSWERED: _S.RESTING,
        _T.FULL: _S.BLOCKED,
        _T.ENDED: _S.FINISHING,
        _T.LAST_SENT: _S.LINGERING,
        _T.DONE: _S.CLOSING,
        _T.LOST: _S.CLOSED,
    },
    _S.WORKING: {
        _T.ARRIVED: _S.WORKING,
        _T.READY: _S.OWING,
        _T.FULL: _S.BLOCKED,
        _T.ENDED: _S.FINISHING,
        _T.LOST: _S.CLOSED,
    },
    _S.BLOCKED: {
        _T.ARRIVED: _S.BLOCKED,
        _T.DEFERRED: _S.BLOCKED,
        _T.READY: _S.BLOCKED,
        _T.DRAINED: _S.OWING,
        _T.ENDED: _S.FINISHING,
        _T.LAST_SENT: _S.LINGERING,
        _T.DONE: _S.CLOSING,
        _T.LOST: _S.CLOSED,
    },
    _S.FINISHING: {
        _T.ARRIVED: _S.FINISHING,
        _T.DEFERRED: _S.FINISHING,
        _T.READY: _S.FINISHING,
        _T.FULL: _S.FINISHING,
        _T.DRAINED: _S.FINISHING,
        _T.ENDED: _S.FINISHING,
        _T.LAST_SENT: _S.LINGERING,
        _T.DONE: _S.CLOSING,
        _T.LOST: _S.CLOSED,
    },
    _S.LINGERING: {
        _T.FULL: _S.LINGERING,
        _T.DRAINED: _S.LINGERING,
        _T.LOST: _S.CLOSED,
    },
    _S.CLOSING: {
        _T.FULL: _S.CLOSING,
        _T.DRAINED: _S.CLOSING,
        _T.LOST: _S.CLOSED,
    },
    _S.CLOSED: {},
}

# Nothing is answered any more.
LEAVING = frozenset({ConnectionState.LINGERING, ConnectionState.CLOSING, ConnectionState.CLOSED})

# The name in ``Limits`` of how long the client may keep a connection in a state. Progress counts: a client that takes
# some of its answers begins anew. In the other states the client waits for the server.
LONGEST: dict[ConnectionState, str] = {
    ConnectionState.RESTING: "idle_seconds",
    ConnectionState.RECEIVING: "request_seconds",
    ConnectionState.BLOCKED: "stalled_seconds",
    ConnectionState.FINISHING: "stalled_seconds",
    ConnectionState.LINGERING: "linger_seconds",
    ConnectionState.CLOSING: "linger_seconds",
}


def after(state: ConnectionState, trigger: Trigger) -> ConnectionState:
    """The state that ``trigger`` leads to. An impossible pair is a fault of ours, never of a client."""
    try:
        return TRANSITIONS[state][trigger]
    except KeyError:
        raise AssertionError(f"'{trigger}' cannot happen to a connection that is {state}") from None

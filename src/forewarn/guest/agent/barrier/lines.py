"""The barrier's messages over HTTP: a small listener for other agents' questions, and threads that ask them ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial

from forewarn.guest.agent.barrier.words import PATH, SEAL_HEADER, Question, Seal
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.calling import call
from forewarn.guest.agent.inbox import Answered, Inbox, Spoken
from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.agent.telling.pages import parse_listen
from forewarn.guest.system.parts import Listener, Stream, System

# Neighbours are milliseconds away; one that is busy for longer is asked again (ASK_EVERY_SECONDS)
_PATIENCE_SECONDS = 3.0
_LONGEST_QUESTION = 8192  # a question is six short fields; nginx and Apache take as much for a request line
_AT_ONCE = 32  # threads for questions, and as many for answers: ours, small for a VM of one core

# What may stand for {name} in an address. Names come from documents: one with a slash or an at-sign in it would send
# our questions wherever it says.
_MEMBER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,253}")

StanceOf = Callable[[str], str]  # from an event's id


class BarrierLine:
    """Both directions. ``stance_of`` is asked from other threads and must only look."""

    def __init__(self, system: System, secret: bytes, template: str, inbox: Inbox, metrics: Metrics) -> None:
        self._system = system
        self._seal = Seal(secret, system.chance)
        self._template = template if "://" in template else f"http://{template}"
        self._clock = system.clock
        self._inbox = inbox
        self._metrics = metrics
        self._asking = system.threads.places(_AT_ONCE)
        self._answering = system.threads.places(_AT_ONCE)
        self._listener: Listener | None = None
        self._own_name = ""
        self._stance_of: StanceOf = lambda key: "unknown"
        self._lock = system.threads.lock()

    # Being asked

    def open(self, listen: str, own_name: str, stance_of: StanceOf) -> str:
        """Listen, and say where."""
        host, port = parse_listen(listen)
        self._own_name, self._stance_of = own_name, stance_of
        self._listener = listener = self._system.sockets.listen(host, port, backlog=64)
        self._system.threads.start(lambda: self._accept(listener), "barrier")
        where = listener.address
        return f"{where[0]}:{where[1]}"

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()

    def _accept(self, listener: Listener) -> None:
        while (connection := listener.accept()) is not None:
            if self._answering.acquire(blocking=False):
                self._system.threads.start(partial(self._serve, connection), "barrier-answer")
            else:
                connection.close()

    def _serve(self, connection: Stream) -> None:
        try:
            with closing(connection), suppress(OSError, ValueError):
                request = _read_request(connection, Budget(self._system, _PATIENCE_SECONDS))
                connection.settimeout(_PATIENCE_SECONDS)
                connection.sendall(self._answer(*request))
        finally:
            self._answering.release()

    def _answer(self, line: str, headers: dict[str, str], body: bytes) -> bytes:
        verb, _, target = line.rpartition(" ")[0].partition(" ")
        if verb != "POST" or not target.endswith(PATH):  # the template may put something before it
            return _response(404, b"", "")
        with self._lock:
            question = self._seal.read_question(body, headers.get(SEAL_HEADER.lower(), ""), self._clock.now())
        if isinstance(question, str) or question.asked.casefold() != self._own_name.casefold():
            self._metrics.barrier("rejected")
            return _response(403, b"", "")
        self._metrics.barrier("heard")
        self._inbox.put(Spoken(question.event_id.upper(), question.asker))
        said, seal = self._seal.answer(question, self._own_name, self._stance_of(question.event_id.upper()))
        return _response(200, said, seal)

    # Asking

    def ask(self, key: str, name: str, stance: str) -> bool:
        """Ask one member, in a thread; the inbox hears its answer, or that there is none. False: too many are asked."""
        if not self._asking.acquire(blocking=False):
            return False
        self._system.threads.start(partial(self._ask, key, name, stance), f"ask-{name[:20]}")
        return True

    def _ask(self, key: str, name: str, stance: str) -> None:
        answer: str | None = None
        try:
            question, body, seal = self._seal.question(self._own_name, name, key, stance, self._clock.now())
            answer = self._exchange(question, body, seal)
            self._metrics.barrier("told")
        finally:
            self._asking.release()
            self._inbox.put(Answered(key, name, answer))

    def _exchange(self, question: Question, body: bytes, seal: str) -> str | None:
        if not _MEMBER.fullmatch(question.asked):
            return None
        url = self._template.replace("{name}", question.asked).rstrip("/") + PATH
        headers = {SEAL_HEADER: seal, "Content-Type": "application/json"}
        response = call(
            self._system.sockets, "POST", url, Budget(self._system, _PATIENCE_SECONDS), headers=headers, body=body
        )
        if isinstance(response, str) or response.status != 200:
            return None
        return self._seal.read_answer(question, response.body, response.headers.get(SEAL_HEADER.lower(), ""))


def _read_request(connection: Stream, budget: Budget) -> tuple[str, dict[str, str], bytes]:
    """A request, within one budget of time for all of it.

    A byte a second (slowloris), from enough peers, would otherwise keep other members from being heard.
    """
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection, len(data), budget)
    head, _, body = data.partition(b"\r\n\r\n")
    line, *fields = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
    length = int(headers.get("content-length", "0"))
    while len(body) < length:
        body += _more(connection, len(head) + len(body), budget)
    return line, headers, body[:length]


def _more(connection: Stream, so_far: int, budget: Budget) -> bytes:
    if so_far > _LONGEST_QUESTION:
        raise ValueError("too long")
    left = budget.left()
    if not left:
        raise TimeoutError
    connection.settimeout(left)
    data = connection.recv(4096)
    if not data:
        raise ValueError("it hung up")
    return data


def _response(status: int, body: bytes, seal: str) -> bytes:
    reason = {200: "OK", 403: "Forbidden", 404: "Not Found"}[status]
    head = (
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"{SEAL_HEADER}: {seal}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("latin-1") + body

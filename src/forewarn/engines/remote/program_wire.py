"""Requests as lines to a program that forewarn starts: one JSON object a line on its stdin, answers on its stdout.

The program is ended with the server, and started again, later each time, when it ends by itself. What it writes to
stderr goes to the server's log. A line that is too long, or is no answer, ends it: what follows could mean anything.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from forewarn.engines.remote.messages import words_of
from forewarn.engines.remote.wire import ANSWER_MOST, WireAnswer
from forewarn.plane.hands.engine import EngineFault

_FIRST_SECONDS, _MOST_SECONDS = 1.0, 60.0  # before it is started again, doubled each time; as a hand's tries
_STEADY_SECONDS = 60.0  # a program that ran so long is started again without the earlier pauses
_HUNG_MOST = 4  # questions in a row without any answer: the program is ended and started anew; ours
if sys.platform == "win32":
    _KILL = signal.SIGTERM
else:
    _KILL = signal.SIGKILL
_ENDING_SECONDS = 5.0  # after its stdin was closed, before it is told by a signal; and then before it is killed
_LOG_LINE_MOST = 1000  # bytes of stderr in one line; ours
_LOG_LINES_MOST = 100  # of stderr in a minute; ours
_OWN = "FOREWARN_"  # how the server's own settings begin, secrets among them: no program inherits these
_log = logging.getLogger(__name__)


class AnswerLine(Struct, frozen=True):
    """One line of the program's stdout."""

    id: int
    status: Annotated[int, Meta(ge=100, le=599)]
    body: Raw = Raw(b"")


@dataclass
class _Question:
    answered: threading.Event = field(default_factory=threading.Event)
    answer: WireAnswer | None = None
    fault: str = ""


class _Running:
    """One life of the program. Ends once: with its last answer, or when it said something that is none."""

    def __init__(self, words: Sequence[str], shouted: Callable[[str], None]) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
        self.process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - from the server's own files
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        self.began = time.monotonic()
        self.unanswered = 0  # questions in a row that were given up
        self.ended = ""  # why, once it has
        self._questions: dict[int, _Question] = {}
        self._asked = 0
        self._guard, self._writing = threading.Lock(), threading.RLock()  # the second: whoever uses the stdin's number
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._stdin = self.process.stdin.fileno()
        if sys.platform != "win32":  # servers with machines run on Linux
            os.set_blocking(self._stdin, False)
        for work in (partial(self._hear, self.process.stdout), partial(_pass_on, self.process.stderr, shouted)):
            threading.Thread(target=work, name="forewarn-engine", daemon=True).start()

    def ask(self, method: str, target: str, body: bytes | None, seconds: float) -> WireAnswer:
        ends = time.monotonic() + seconds
        question = _Question()
        with self._guard:
            if self.ended:
                raise EngineFault(self.ended)
            self._asked += 1
            number = self._asked
            self._questions[number] = question
        line = {"id": number, "method": method, "path": target, "body": None if body is None else Raw(body)}
        try:
            self._write(msgspec.json.encode(line) + b"\n", ends)
            question.answered.wait(max(0.0, ends - time.monotonic()))
        finally:
            with self._guard:
                self._questions.pop(number, None)
        if question.answer is None:
            self.unanswered += 0 if question.fault else 1
            raise EngineFault(question.fault or f"The engine's program did not answer within {seconds:g} s.")
        self.unanswered = 0
        return question.answer

    def _write(self, line: bytes, ends: float) -> None:
        """All of it or nothing that counts: half a line would spoil the next one."""
        if not self._writing.acquire(timeout=max(0.0, ends - time.monotonic())):
            raise EngineFault("The engine's program does not read what it is asked.")
        try:
            rest = memoryview(line)
            while rest:
                if self.ended:  # its stdin may be closed, and the number another file's
                    raise EngineFault(self.ended)
                if not _writable(self._stdin, max(0.0, ends - time.monotonic())):
                    if len(rest) < len(line):
                        self.end("it stopped reading in the middle of a line")
                    raise EngineFault("The engine's program does not read what it is asked.")
                rest = rest[os.write(self._stdin, rest) :]
        except (OSError, ValueError):
            self.end("it closed its stdin")
            raise EngineFault(self.ended) from None
        finally:
            self._writing.release()

    def _hear(self, pipe: IO[bytes]) -> None:
        why = "it ended"
        try:
            with pipe:
                while line := pipe.readline(ANSWER_MOST + 1):
                    if len(line) > ANSWER_MOST:
                        why = f"it wrote a line of more than {ANSWER_MOST} bytes"
                        break
                    if line.strip():
                        self._answer(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            why = f"it wrote a line that is no answer ({words_of(str(fault))})"
        except (OSError, ValueError):
            why = "its stdout was closed"
        self.end(why)

    def _answer(self, line: bytes) -> None:
        told = msgspec.json.decode(line, type=AnswerLine)
        with self._guard:
            question = self._questions.pop(told.id, None)
        if question is not None:  # the others were given up meanwhile
            question.answer = WireAnswer(told.status, b"" if bytes(told.body) == b"null" else bytes(told.body))
            question.answered.set()

    def end(self, why: str) -> None:
        """End this run of the program: kill it, and fail all calls that wait for an answer with the reason."""
        with self._guard:
            if self.ended:
                return
            self.ended = f"The engine's program is not running: {why}."
            waiting, self._questions = [*self._questions.values()], {}
        _signal(self.process, _KILL)
        status = self.process.wait()
        self._close_stdin(_ENDING_SECONDS)
        if why == "it ended":
            self.ended = f"The engine's program is not running: it ended with status {status}."
        for question in waiting:
            question.fault = f"{self.ended} What it was asked may have been done."
            question.answered.set()

    def end_politely(self) -> bool | None:
        """Its stdin is closed, which is how it knows; then it is told by signals. Whether it ended without these."""
        with self._guard:
            if self.ended:
                return None
            self.ended = "The engine's program has been ended."
            waiting, self._questions = [*self._questions.values()], {}
        for question in waiting:
            question.fault = self.ended
            question.answered.set()
        self._close_stdin(_ENDING_SECONDS)
        for sent in (signal.SIGTERM, _KILL):
            try:
                self.process.wait(_ENDING_SECONDS)
                return sent is signal.SIGTERM
            except subprocess.TimeoutExpired:
                _signal(self.process, sent)
        self.process.wait()
        self._close_stdin(_ENDING_SECONDS)  # by now nobody can be stuck in writing to it
        return False

    def _close_stdin(self, seconds: float) -> None:
        """Close it, unless a thread is still writing to it after so many seconds."""
        assert self.process.stdin is not None
        if self._writing.acquire(timeout=seconds):
            with suppress(OSError):
                self.process.stdin.close()
            self._writing.release()


class ProgramWire:
    """The program, in as many lives as it needs."""

    def __init__(self, words: Sequence[str], shouted: Callable[[str], None] | None = None) -> None:
        """``shouted`` is told each line of the program's stderr, in place of the log."""
        if not words:
            raise EngineFault("An engine's program is a list of words, the first of which is the program.")
        self._words, self._shouted = tuple(words), shouted or _to_log
        self.ended_by_itself: bool | None = None  # known once this was closed while the program ran
        self.where = self._words[0]
        self._running: _Running | None = None
        self._pause, self._not_before = _FIRST_SECONDS, 0.0
        self._guard = threading.Lock()
        self._closed = False

    def ask(self, method: str, target: str, body: bytes | None, seconds: float) -> WireAnswer:
        running = self._started()
        try:
            return running.ask(method, target, body, seconds)
        except EngineFault:
            if running.unanswered >= _HUNG_MOST:
                running.end(f"{running.unanswered} questions in a row had no answer")
            raise

    def _started(self) -> _Running:
        with self._guard:
            if self._closed:
                raise EngineFault("This engine has been closed.")
            now = time.monotonic()
            if self._running is not None:
                if not self._running.ended:
                    return self._running
                self._put_off(self._running, now)
            if now < self._not_before:
                raise EngineFault(
                    f"The engine's program {self.where} is started again in {self._not_before - now:.0f} s."
                )
            try:
                self._running = _Running(self._words, self._shouted)
            except OSError as fault:
                self._not_before, self._pause = now + self._pause, min(2 * self._pause, _MOST_SECONDS)
                raise EngineFault(f"{self.where} could not be started: {fault.strerror or fault}.") from None
            return self._running

    def _put_off(self, ended: _Running, now: float) -> None:
        _log.warning("Engine program %s: %s", self.where, ended.ended)
        self._running = None
        if now - ended.began >= _STEADY_SECONDS:
            self._pause = _FIRST_SECONDS
        self._not_before, self._pause = now + self._pause, min(2 * self._pause, _MOST_SECONDS)

    def close(self) -> None:
        with self._guard:
            self._closed = True
            running, self._running = self._running, None
        if running is not None:
            self.ended_by_itself = running.end_politely()


def _writable(number: int, seconds: float) -> bool:
    """Whether the pipe takes something within that time. Not by ``select.select``, which knows 1024 files only."""
    with selectors.DefaultSelector() as selector:
        selector.register(number, selectors.EVENT_WRITE)
        return bool(selector.select(seconds))


def _to_log(line: str) -> None:
    _log.info("Engine program: %s", line)


def _pass_on(pipe: IO[bytes], shouted: Callable[[str], None]) -> None:
    """One line at a time, cut; no more of them in a minute than a person would read."""
    since, told = time.monotonic(), 0
    with pipe:
        while line := pipe.readline(_LOG_LINE_MOST):
            now = time.monotonic()
            if now - since > 60:
                since, told = now, 0
            told += 1
            if told <= _LOG_LINES_MOST:
                shouted(words_of(line.decode("utf-8", "replace")))


def _signal(process: subprocess.Popen[bytes], sent: signal.Signals) -> None:
    """To the program and to what it started; a migration that an engine carries out is not among these."""
    if sys.platform == "win32":
        process.terminate()
        return
    try:
        os.killpg(process.pid, sent)
    except (ProcessLookupError, PermissionError):
        return

"""What a system offers to library and agent, part by part. Only types and values: nothing here does anything.

To write another system:

- Times that programs wait for are seconds on ``MachineClock.monotonic``. ``MachineClock.now`` is the wall clock and may
  be wrong.
- A failure is an ``OSError``, as the system tells it. What else is raised is said beside the method.
- Paths are names: what is below a ``Path`` is only ever touched through ``Files``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from pathlib import Path  # which the library without the agent does not load

_T = TypeVar("_T")

# A Linux pipe's buffer: of what a program writes, its beginning is kept, the rest is thrown away
OUTPUT_BYTES = 64 * 1024


class MachineClock(Protocol):
    """An instant to compare with NotBefore, and seconds that only grow."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...


class Chance(Protocol):
    """Random numbers that cannot be predicted."""

    def random(self) -> float:
        """From 0 up to, but never, 1."""

    def getrandbits(self, bits: int, /) -> int: ...


# Threads


class Thread(Protocol):
    """A thread that was started. It does not keep the process alive."""

    def join(self, timeout: float | None = None) -> None: ...


class Flag(Protocol):
    """As ``threading.Event``."""

    def set(self) -> None: ...

    def is_set(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> bool: ...


class Condition(Protocol):
    """As ``threading.Condition`` with its own lock."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def wait(self, timeout: float | None = None) -> bool: ...

    def notify_all(self) -> None: ...


class Slots(Protocol):
    """As ``threading.BoundedSemaphore``: a limit on how many do something at the same time. Never waits."""

    def acquire(self, blocking: bool = True) -> bool: ...

    def release(self) -> None: ...


class Queue(Protocol[_T]):
    """As ``queue.SimpleQueue``: ``get`` raises ``queue.Empty``."""

    def put(self, item: _T) -> None:
        """Never waits. Raises ``queue.Full`` in a queue that has a limit and has reached it."""

    def get(self, block: bool = True, timeout: float | None = None) -> _T: ...

    def get_nowait(self) -> _T: ...

    def empty(self) -> bool: ...


class Threads(Protocol):
    """Threads, and what they need to work together."""

    def start(self, work: Callable[[], None], name: str) -> Thread: ...

    def lock(self) -> AbstractContextManager[bool]:
        """For a few lines that wait for nothing else."""

    def event(self) -> Flag: ...

    def condition(self) -> Condition: ...

    def places(self, count: int) -> Slots: ...

    def queue(self, most: int = 0) -> Queue[_T]:
        """For at most so many items; 0 is no limit. One without a limit takes a ``put`` from a signal's handler."""


# Sockets


class Stream(Protocol):
    """A connected stream of bytes: as much of ``socket.socket`` as is needed."""

    def settimeout(self, seconds: float | None, /) -> None: ...

    def sendall(self, data: bytes, /) -> None: ...

    def recv(self, most: int, /) -> bytes: ...

    def close(self) -> None: ...


class Listener(Protocol):
    """A socket that takes connections."""

    address: tuple[str, int]  # where it listens, also when any port was asked for

    def accept(self) -> Stream | None:
        """The next connection. None: ``close`` was called, and there will be no other."""

    def close(self) -> None:
        """From any thread; one that waits in ``accept`` is woken."""


class Sockets(Protocol):
    """Ways to reach others. Every ``seconds`` is for being connected; ``TimeoutError`` when that took longer."""

    def connect(self, host: str, port: int, seconds: float) -> Stream:
        """By TCP. What is sent leaves at once (TCP_NODELAY); an other end that went without a word is an ``OSError``
        within 15 s for whoever waits (keep-alive)."""

    def secured(self, connection: Stream, host: str) -> Stream:
        """The same under TLS, checked against the system's certificates. Where that fails, it is closed."""

    def connect_local(self, path: str, seconds: float) -> Stream:
        """By a socket that has a place in the file system; an ``OSError`` where the system has no such thing."""

    def listen(self, host: str, port: int, backlog: int) -> Listener:
        """By TCP; port 0 takes any. An address that is taken is an ``OSError``."""

    def hang_up(self, connection: Stream) -> None:
        """Wake the thread that reads from it, which closing does not. It is still to be closed.

        That thread's ``recv`` returns nothing, or raises an ``OSError``.
        """

    def ask_dhcp(self, transaction: int) -> str:
        """The address that a DHCP server of this network tells in option 245. Blocks for seconds.

        Raises ``DhcpFailed``. ``transaction`` is any number of 32 bits.
        """


# Files


class OwnFile(Protocol):
    """A file that is open to be appended to."""

    def size(self) -> int: ...

    def write(self, data: bytes) -> None:
        """All of it."""

    def sync(self) -> None:
        """Returns when everything in it would survive a loss of power."""

    def truncate(self, size: int) -> None: ...

    def close(self) -> None: ...


class Held(Protocol):
    """Something that is held until it is let go, or the process ends."""

    def close(self) -> None: ...


class Files(Protocol):
    """The agent's own files: for its user only, and never one that a link leads to."""

    def read(self, path: Path) -> bytes: ...

    def exists(self, path: Path) -> bool: ...

    def make_directory(self, path: Path) -> None:
        """With those above it, durably. One that is there is left as it is."""

    def sync_names(self, directory: Path) -> None:
        """Make the names in it durable: new, moved and removed ones."""

    def write_whole(self, path: Path, content: bytes) -> None:
        """Put a file in its place, whole or not at all, and durably."""

    def append(self, path: Path, *, anew: bool = False) -> OwnFile:
        """Open it, made if it is not there. ``anew``: whatever is in it is thrown away first."""

    def move(self, path: Path, to: Path) -> None:
        """In the place of what is there."""

    def touch(self, path: Path) -> None:
        """An empty file, and the directories above it, where there is none; readable by all."""

    def remove(self, path: Path) -> None:
        """Durably. One that is not there is no fault."""

    def discard(self, path: Path) -> None:
        """The same for a file that may come back after a loss of power."""

    def lock(self, path: Path) -> Held:
        """Hold it against all other processes; ``BlockingIOError`` where one of them has it."""


# Programs


@dataclass(frozen=True, slots=True)
class Program:
    """What to run. Without a ``directory`` it runs in the root; ``environment`` is added to ours."""

    arguments: Sequence[str]
    stdin: bytes = b""
    environment: Mapping[str, str] | None = None
    directory: str | None = None


class TimeLeft(Protocol):
    """How long something may still take. It may become more or less while one waits."""

    def left(self) -> float:
        """Seconds, never less than 0."""

    def pause(self, seconds: float) -> bool:
        """Wait so long, or until there is no time left; whether there is any."""


class StartedProgram(Protocol):
    """A program that was started, by us or by an earlier process."""

    def wait(self, time_left: TimeLeft) -> bool:
        """Whether it has ended by itself before its time was over."""

    def end(self, *, everything: bool) -> None:
        """End what it has left running. With ``everything`` also itself and whatever has left its group.

        A program that ended in its time may leave a proper daemon behind; what just went to the background is ended.
        """


class Programs(Protocol):
    """Programs that others wrote: they may hang, fork, flood, or leave children behind.

    Each leaves a *receipt*, a file with a line ``began PID`` and, when it has ended, ``ended STATUS``. It is written
    whether we live or not: so an agent that was killed meanwhile learns afterwards what became of the program.
    """

    def start(self, program: Program, receipt: Path, output: Path) -> StartedProgram:
        """Start it; the first ``OUTPUT_BYTES`` of what it writes come into ``output``. May raise ``ValueError`` too."""

    def find(self, receipt: Path) -> StartedProgram:
        """The run that an earlier process started with this receipt, which exists; it may have ended long ago."""

    def shell(self, line: str) -> Sequence[str]:
        """The arguments that have the system's shell run a line."""

    def status_words(self, status: int) -> str:
        """What a status that is not 0 means, behind the program's name."""


# The rest


class Supervisor(Protocol):
    """The service manager that started this process: systemd, that of Windows. None of these raises or waits."""

    @property
    def alive_every_seconds(self) -> float | None:
        """How often to say that we are alive; None: never."""

    def ready(self, status: str = "") -> None: ...

    def alive(self) -> None: ...

    def status(self, text: str) -> None: ...

    def stopping(self, status: str = "") -> None: ...


class System(Protocol):
    """One machine, as a process on it knows it."""

    @property
    def clock(self) -> MachineClock: ...

    @property
    def chance(self) -> Chance: ...

    @property
    def threads(self) -> Threads: ...

    @property
    def sockets(self) -> Sockets: ...

    @property
    def files(self) -> Files: ...

    @property
    def programs(self) -> Programs: ...

    @property
    def environment(self) -> MutableMapping[str, str]:
        """The variables of this process."""

    def boot_id(self) -> str:
        """Changes with every boot; empty where the system does not tell."""

    def supervisor(self) -> Supervisor:
        """The one that has started us. What it said in ``environment`` is taken away, for our programs not to use."""

    def on_stop(self, stop: Callable[[str], None]) -> None:
        """Have ``stop`` called with a sentence when this process is asked to end. For the main thread only."""

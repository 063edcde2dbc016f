"""A real PostgreSQL for the tests: Debian's own binaries, a directory and a port of their own, nothing left behind.

``with Server() as server: journal = PostgresJournal(server.region())``. As root, which PostgreSQL refuses to run as,
everything is done as the user ``postgres`` that Debian's package brings.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql

from tests.ports import free_port

USER, PASSWORD = "postgres", "pass-word/of:the@tests"  # with what has to be quoted in a URL
_PATIENCE_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.05
_LONGEST_SOCKET = 80  # the kernel takes 107 bytes, and PostgreSQL adds a name


class Server:
    """One cluster in one directory, running between ``start`` and ``stop`` or ``kill``; ``with`` does both ends.

    ``fsync`` stays on unless somebody only wants speed: a loss test must not be kinder than a real server.
    """

    def __init__(
        self, directory: Path | None = None, *, fsync: bool = True, settings: Mapping[str, str] | None = None
    ) -> None:
        self._owned = directory is None
        self.directory = Path(tempfile.mkdtemp(prefix="forewarn-pg-")) if directory is None else directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self.data = self.directory / "data"
        self.log = self.directory / "log"
        self.port = free_port()
        self._settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.directory) if len(str(self.directory)) < _LONGEST_SOCKET else "",
            "fsync": "on" if fsync else "off",
            "log_line_prefix": "%m [%p] ",
            **(settings or {}),
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._names = count(1)

    # Its life

    def __enter__(self) -> Server:
        try:
            if not self.data.exists():
                self._initialise()
            self.start()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._owned:
            self.kill()  # nobody will want it again: it need not bring everything to the disk first
            shutil.rmtree(self.directory, ignore_errors=True)
        else:
            self.stop()

    def start(self, *, wait: bool = True) -> None:
        """Start it, and with ``wait`` return only when it answers."""
        assert self._process is None, "it runs already"
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        command = [str(_binary("postgres")), "-D", str(self.data), "-p", str(self.port), *options]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.directory, **_somebody())
        if wait:
            self.wait()

    def wait(self) -> None:
        """Return when it takes connections."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
            except psycopg.OperationalError as reason:
                died = self._process is None or self._process.poll() is not None
                if died or time.monotonic() > deadline:
                    raise RuntimeError(f"PostgreSQL does not come up: {reason}\n{self.log.read_text()}") from reason
                time.sleep(_LOOK_AGAIN_SECONDS)
            else:
                return

    def stop(self) -> None:
        """A fast shutdown: whoever is connected is told to go, everything is on disk."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """``kill -9`` to all of it at once, as when the machine loses power (though the kernel keeps its cache)."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)  # or it would notice its children dying, and tidy up
            children = _children(self._process.pid)
            for child in children:
                _signal(child, signal.SIGKILL)
            self._end(signal.SIGKILL)
            _await_gone(children)

    def restart(self) -> None:
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Every process stands still: connections stay up, and nobody answers."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: signal.Signals) -> None:
        assert self._process is not None
        for pid in (self._process.pid, *_children(self._process.pid)):
            _signal(pid, number)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            try:
                self._process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _initialise(self) -> None:
        _let_in(self.directory)
        secret = self.directory / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        run("initdb", "--pgdata", self.data, "--username", USER, "--pwfile", secret, "--auth", "scram-sha-256",
             "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync")  # fmt: skip
        secret.unlink()

    # Its successor

    def standby(self) -> Server:
        """A copy that follows this server when it is started; ``promote`` makes it the one that takes writes."""
        copy = Server()
        _let_in(copy.directory)
        run("pg_basebackup", "--pgdata", copy.data, "--dbname", self.url(), "--write-recovery-conf", "--no-sync",
             "--checkpoint", "fast")  # fmt: skip
        return copy

    def promote(self) -> None:
        self.execute("SELECT pg_promote()")

    # Its inhabitants

    def url(
        self,
        database: str = "postgres",
        *,
        schema: str | None = None,
        user: str = USER,
        password: str = PASSWORD,
        host: str = "127.0.0.1",
        port: int | None = None,
        **parameters: str,
    ) -> str:
        """Where it is, for a client. ``host=str(server.directory)`` is its socket; ``port`` for one in between."""
        if schema is not None:
            parameters["options"] = f"-csearch_path={schema}"
        query = f"?{urlencode(parameters, quote_via=quote)}" if parameters else ""
        place = f"{quote(host, safe='')}:{port or self.port}"
        return f"postgresql://{user}:{quote(password, safe='')}@{place}/{database}{query}"

    def database(self) -> str:
        """A new and empty database; its name."""
        name = f"region_{next(self._names)}"
        self.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return name

    def region(self, database: str = "postgres") -> str:
        """A new and empty schema, much faster to be had than a database; the URL of a region in it."""
        name = f"region_{next(self._names)}"
        self.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)), database=database)
        return self.url(database, schema=name)

    def execute(
        self, query: str | sql.Composable, *values: object, database: str = "postgres", schema: str | None = None
    ) -> list[tuple[Any, ...]]:
        """One statement by the superuser, on a connection of its own."""
        with psycopg.connect(self.url(database, schema=schema), autocommit=True) as connection:
            cursor = connection.execute(query, values or None)  # type: ignore[arg-type]  # queries of tests
            return cursor.fetchall() if cursor.description is not None else []


def _binary(name: str) -> Path:
    """Debian keeps the server's programs out of PATH, one directory for each version."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parent.parent.name))
    on_path = shutil.which(name)
    if not found and on_path is None:
        raise RuntimeError(f"PostgreSQL's {name} is not installed: run `make system`, or apt-get install postgresql.")
    return found[-1] if found else Path(str(on_path))


def _somebody() -> dict[str, Any]:
    """How to run a program as somebody whom PostgreSQL accepts."""
    if os.geteuid() != 0:
        return {}
    return {"user": "postgres", "group": "postgres", "extra_groups": []}


def run(program: str, *arguments: object) -> str:
    """What one of PostgreSQL's own programs prints, run as somebody whom PostgreSQL accepts."""
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [str(_binary(program)), *map(str, arguments)],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        **_somebody(),
    )
    if done.returncode != 0:
        raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}")
    return done.stdout


def _let_in(directory: Path) -> None:
    """As root: make the directory that of the user ``postgres``, and let it pass through those above."""
    if os.geteuid() != 0:
        return
    import pwd  # Windows has none, and no PostgreSQL of the tests either

    owner = pwd.getpwnam("postgres")
    os.chown(directory, owner.pw_uid, owner.pw_gid)
    for above in directory.absolute().parents:
        mode = above.stat().st_mode
        if not mode & 0o001:
            above.chmod(mode | 0o001)


def _children(pid: int) -> list[int]:
    """Each backend is a session of its own, so there is no process group to signal."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has gone in the meantime
            if int(fields[1]) == pid:
                found.append(int(entry.name))
    return found


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _await_gone(pids: list[int]) -> None:
    """A new server refuses to start while a process of the old one still has its memory."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while any(_runs(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN_SECONDS)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

"""Debian's dockerd and podman, started by the tests in namespaces of their own: mounts, network and processes.

Nothing of the machine's own engine, network or containers is touched, and all processes go with the first one of their
namespace. Images come from no registry: one is made of busybox alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forewarn.engines.docker.calls import EngineSocket
from forewarn.plane.hands.engine import EngineFault
from tests.waiting import until

IMAGE = "forewarn-tests"
CALL_SECONDS = 60.0
# Says that it began, and ends by itself when it is told to: 0 on TERM and USR2, 3 on USR1
LIFE = (
    "echo boot 2>/dev/null >>/boots/log; trap 'exit 3' USR1; trap 'exit 0' TERM USR2; "
    "while :; do sleep 3600 & wait $!; done"
)
_TOOLS = ("sh", "sleep", "httpd", "wget", "ip", "cat", "ls", "kill", "date", "nc", "touch", "ping", "mkdir")
# The first process of the namespaces: it collects what is orphaned, and ends with its standard input.
_HOLD = """
mount --make-rprivate / && mount -t tmpfs tmpfs /run && mkdir -p /run/lock && ip link set lo up && echo here
exec 3<&0; cat <&3 >/dev/null & reader=$!
while kill -0 $reader 2>/dev/null; do wait -n; done
"""
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/bin:/bin"


@dataclass(eq=False)
class Daemon:
    """One engine, in namespaces of its own."""

    kind: str  # "dockerd" or "podman"
    room: Path
    holder: subprocess.Popen[str]
    inside: tuple[str, ...]  # what a command begins with that is to run there
    process: subprocess.Popen[bytes] | None = None
    storage: str = "vfs"  # podman's; layers of an image of some size want "overlay"
    socket: EngineSocket = field(init=False)

    def __post_init__(self) -> None:
        self.socket = EngineSocket(str(self.room / "socket"), CALL_SECONDS)

    @property
    def path(self) -> str:
        return self.socket.path

    def start(self) -> None:
        """And wait until it answers."""
        for left in ("socket", "pid"):
            (self.room / left).unlink(missing_ok=True)
        with (self.room / "log").open("ab") as log:
            command = [*self.inside, *self._service()]
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "PATH": _PATH}
            )
        until(self._answers, f"{self.kind} answers", lambda: (self.room / "log").read_text()[-4000:])

    def _service(self) -> list[str]:
        if self.kind == "dockerd":
            return _dockerd(self.room)
        return [*_podman(self.room, self.storage), "system", "service", "--time=0", f"unix://{self.path}"]

    def direct(self) -> list[str]:
        """The beginning of a command of podman that does it itself, in the service's namespaces and with its store."""
        return [*self.inside, *_podman(self.room, self.storage)]

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise CannotRun(f"it ended at once: {(self.room / 'log').read_text()[-2000:]}")
        try:
            return self.socket.ask("GET", "/_ping").fine
        except EngineFault:
            return False

    def kill(self) -> None:
        """The engine itself, at once; what it started is left alone."""
        assert self.process is not None
        # nsenter waits for the daemon, which is its child
        for child in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            os.kill(int(child), 9)
        self.process.kill()
        self.process.wait()

    def do(self, method: str, path: str, query: dict[str, str] | None = None, body: Any = None) -> Any:
        """By hand, past the engine under test."""
        answer = self.socket.ask(method, path, query, body)
        assert answer.fine, f"{method} {path}: {answer.status} {answer.words()}"
        return answer.value() if answer.body[:1] in (b"{", b"[") else None

    def inspect(self, name: str) -> dict[str, Any] | None:
        answer = self.socket.ask("GET", f"/containers/{name}/json")
        found: dict[str, Any] | None = None if answer.status == 404 else answer.value()
        return found

    def names(self) -> list[str]:
        rows = self.do("GET", "/containers/json", {"all": "1"})
        return sorted(name.removeprefix("/") for row in rows for name in row["Names"][:1])

    def volumes(self) -> list[str]:
        return sorted(each["Name"] for each in self.do("GET", "/volumes")["Volumes"] or ())

    def run(self, name: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """A container that runs."""
        settings = {"NetworkMode": "none"}
        self.do(
            "POST",
            "/containers/create",
            {"name": name},
            {"Image": IMAGE, "Cmd": ["/bin/sh", "-c", LIFE], "HostConfig": settings, **(body or {})},
        )
        self.do("POST", f"/containers/{name}/start")
        found = self.inspect(name)
        assert found is not None
        return found

    def signal(self, name: str, signal: int) -> None:
        """To the container's first process, from the machine: its engine is not asked."""
        told = self.inspect(name)
        assert told is not None
        for process in Path("/proc").glob("[0-9]*"):
            if _is_first(process, told["Id"], told["State"]["Pid"]):
                os.kill(int(process.name), signal)
                until(lambda: (self.inspect(name) or told)["State"]["Status"] == "exited", f"{name} ended")
                return
        raise AssertionError(f"{name} has no process")

    def clear(self) -> None:
        """No container, no volume is left; a container that stands still cannot be killed, so it goes on first."""
        until(self._cleared, f"nothing is left at {self.kind}")

    def _cleared(self) -> bool:
        """Once more where something was still under way."""
        rows = self.do("GET", "/containers/json", {"all": "1"})
        for row in rows:
            if row["State"] == "paused":
                self.socket.ask("POST", f"/containers/{row['Id']}/unpause")
            self.socket.ask("DELETE", f"/containers/{row['Id']}", {"force": "1", "v": "1"})
        volumes = self.do("GET", "/volumes")["Volumes"] or ()
        for volume in volumes:
            self.socket.ask("DELETE", f"/volumes/{volume['Name']}")
        return not rows and not volumes

    def exec(self, name: str, *command: str) -> str:
        """Run a command in a container; what it printed."""
        done = subprocess.run([*self.client(), "exec", name, *command], capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr

    def client(self) -> list[str]:
        """The beginning of a command of the engine's own program."""
        if self.kind == "dockerd":
            return ["docker", "-H", f"unix://{self.path}"]
        return ["podman", "--remote", "--url", f"unix://{self.path}"]


@contextmanager
def daemon(kind: str, room: Path, storage: str = "vfs") -> Iterator[Daemon]:
    """A running engine with the one image. Raises ``CannotRun`` where this machine does not let it."""
    room.mkdir(parents=True)
    why_not = missing(kind)
    if why_not:
        raise CannotRun(why_not)
    holder = subprocess.Popen(
        ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", _HOLD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PATH": _PATH},
    )
    made: Daemon | None = None
    try:
        assert holder.stdout is not None
        if holder.stdout.readline() != "here\n":
            raise CannotRun("no namespaces can be made here: run as root, with CAP_SYS_ADMIN")
        first = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()[0]
        inside = ("nsenter", f"--target={first}", "--mount", "--net", "--pid", "--")
        made = Daemon(kind, room, holder, inside, storage=storage)
        made.start()
        _load_image(made)
        yield made
        made.clear()
    finally:
        holder.kill()
        holder.communicate()
        if made is not None and made.process is not None:
            made.process.wait()
        _tidy(room)


class CannotRun(Exception):  # noqa: N818 - the name says enough
    """This machine does not let an engine run; the message says why."""


def missing(kind: str) -> str:
    """What is not there; empty where all is."""
    for program in (kind, "runc", "unshare", "nsenter"):
        if shutil.which(program, path=_PATH) is None:
            return f"{program} is not installed: bash requirements/system.sh platforms"
    if not Path("/bin/busybox").exists():
        return "busybox is not installed: bash requirements/system.sh platforms"
    return "" if os.geteuid() == 0 else "engines are started in namespaces of their own, which needs root"


def _dockerd(room: Path) -> list[str]:
    return [
        "dockerd", f"--host=unix://{room}/socket", f"--data-root={room}/data", f"--exec-root={room}/exec",
        f"--pidfile={room}/pid", "--storage-driver=vfs", "--iptables=false", "--ip6tables=false", "--bridge=none",
        f"--cgroup-parent=/{_cgroup(room)}", "--exec-opt=native.cgroupdriver=cgroupfs", "--live-restore",
        "--log-level=error",
    ]  # fmt: skip


def _podman(room: Path, storage: str) -> list[str]:
    return [
        "podman", f"--root={room}/data", "--runroot=/run/containers", "--tmpdir=/run/libpod",
        f"--storage-driver={storage}", "--cgroup-manager=cgroupfs", "--runtime=runc", "--events-backend=file",
        f"--network-config-dir={room}/net",
    ]  # fmt: skip


def _cgroup(room: Path) -> str:
    return f"forewarn-tests-{os.getpid()}-{room.name}"


def _tidy(room: Path) -> None:
    """Mounts went with their namespace; groups of processes stay until somebody removes them."""
    for controller in Path("/sys/fs/cgroup").glob(f"*/{_cgroup(room)}"):
        for group in sorted(controller.rglob("*/"), reverse=True):
            group.rmdir() if group.is_dir() else None
        controller.rmdir()
    shutil.rmtree(room, ignore_errors=True)


def _is_first(process: Path, container: str, inside: int) -> bool:
    """Whether a process of this machine is the one that the engine knows by the number ``inside``."""
    try:
        groups = (process / "cgroup").read_text()
        numbers = [line.split()[1:] for line in (process / "status").read_text().splitlines() if "NSpid" in line]
    except OSError:
        return False
    return container in groups and len(numbers[0]) > 1 and numbers[0][-2] == str(inside)


def _load_image(made: Daemon) -> None:
    """Busybox under the names of its tools."""
    archive = made.room / "image.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add("/bin/busybox", "bin/busybox")
        for tool in _TOOLS:
            link = tarfile.TarInfo(f"bin/{tool}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        for folder in ("proc", "sys", "dev", "etc", "tmp", "run"):
            empty = tarfile.TarInfo(folder)
            empty.type, empty.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(empty)
    import_archive(made, archive, IMAGE)


def import_archive(made: Daemon, archive: Path, name: str, *words: str) -> None:
    line = [*made.client(), "import", *words, str(archive), name]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr

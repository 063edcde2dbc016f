"""libvirt of one person who is not root (``qemu:///session``): the daemon, its machines and forewarn are that user's.

As for the two hosts: a network, mounts and names of its own. What it keeps is below one folder, with the path to its
sockets short enough for them. Nothing there may become more than that user (``--no-new-privs``).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from forewarn.engines.libvirt.hosts import LibvirtHost
from tests.platforms.libvirt.daemons import Daemon
from tests.waiting import until

USER = 61234  # ours: of no range that distributions give to people or services
_ENTER = """set -e
mount --bind {folder}/passwd /etc/passwd
mount --bind {folder}/group /etc/group
{python}
ip link set lo up
exec {as_user} libvirtd -p {folder}/pid
"""
# Where Python is in a directory that others may not enter, this one is seen instead, with Python alone in it
_PYTHON = """mount --bind {python} {folder}/python
mount -t tmpfs -o mode=755 tmpfs {closed}
mkdir -p {python}
mount --bind {folder}/python {python}"""


@dataclass
class Session(Daemon):
    """One host, without root."""

    @property
    def host(self) -> LibvirtHost:
        return LibvirtHost(self.name, f"qemu+unix:///session?socket={self.socket}")

    @property
    def socket(self) -> Path:
        return self.folder / "run/libvirt/libvirt-sock"

    @property
    def as_user(self) -> tuple[str, ...]:
        variables = (f"HOME={self.folder}", f"XDG_RUNTIME_DIR={self.folder}/run", f"XDG_CACHE_HOME={self.folder}/cache")
        user = (
            "setpriv",
            f"--reuid={USER}",
            f"--regid={USER}",
            "--clear-groups",
            "--no-new-privs",
            "--bounding-set=-all",
        )
        return (*user, "env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *variables)

    @property
    def inside(self) -> tuple[str, ...]:
        return (*super().inside, *self.as_user)

    def start(self) -> None:
        closed = next(
            (each for each in reversed(Path(sys.base_prefix).parents) if not each.stat().st_mode & 0o001), None
        )
        python = _PYTHON.format(python=sys.base_prefix, folder=self.folder, closed=closed) if closed else ""
        script = _ENTER.format(folder=self.folder, python=python, as_user=" ".join(self.as_user))
        words = ["ip", "netns", "exec", self.namespace, "unshare", "--mount", "bash", "-c", script]
        with (self.folder / "out").open("ab") as out:
            self.process = subprocess.Popen(words, stdout=out, stderr=out, start_new_session=True)
        until(self.socket.exists, "the daemon of the session", (self.folder / "out").read_text)


@contextmanager
def session() -> Iterator[Session]:
    """A host of that user. All that runs there ends with the block."""
    folder = Path(tempfile.mkdtemp(prefix="fw-"))
    made = Session("laptop", folder, f"fw{os.getpid()}laptop")
    for each in ("run", "cache", "python", ".config/libvirt"):
        (folder / each).mkdir(parents=True)
    (folder / ".config/libvirt/qemu.conf").write_text("seccomp_sandbox = 0\n")  # as docs/machines.md has it
    (folder / "passwd").write_text(Path("/etc/passwd").read_text() + f"someone:x:{USER}:{USER}::{folder}:/bin/sh\n")
    (folder / "group").write_text(Path("/etc/group").read_text() + f"someone:x:{USER}:\n")
    give(folder)
    subprocess.run(["ip", "netns", "add", made.namespace], check=True)
    try:
        made.start()
        yield made
    finally:
        made.lose()
        subprocess.run(["ip", "netns", "del", made.namespace], check=True)
        shutil.rmtree(folder)


def give(path: Path) -> None:
    """To that user, with all that is in it."""
    subprocess.run(["chown", "--recursive", "--no-dereference", f"{USER}:{USER}", str(path)], check=True)

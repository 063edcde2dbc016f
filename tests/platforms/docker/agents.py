"""Containers with the product's agent inside, on the metadata network, and the region that knows them by it."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.e2e.program import ServerProgram
from tests.platforms.docker.daemons import Daemon, import_archive
from tests.platforms.guests.tree import HOME, tree
from tests.platforms.serving import facts, forewarn, launch, serving
from tests.waiting import until

IMAGE = "forewarn-guest"
NETWORK = "metadata"
METADATA = "169.254.169.254"
HOSTS = ("rack-1", "rack-2")
_TOOLS = ("sh", "sleep", "cat", "mkdir", "date", "sed", "grep", "kill", "echo", "printf")
_SETTINGS = """
[machines]
grace = "2s"
listing_every = "2s"
call_timeout = "30s"
"""
_OPTIONS = ("--recovery-freeze", "2s", "--recovery-user-restart", "2s", "--recovery-user-redeploy", "2s")


@dataclass
class Contained:
    """A container, as its own log shows it."""

    name: str
    boots: Path

    def text(self) -> str:
        log = self.boots / self.name
        return log.read_text(errors="replace") if log.exists() else "(no log)"

    def told(self) -> list[str]:
        begin = f"GUEST {self.name} "
        return [line.removeprefix(begin).strip() for line in self.text().splitlines() if line.startswith(begin)]

    def until(self, words: str, times: int = 1) -> None:
        until(lambda: sum(words in line for line in self.told()) >= times, f"{self.name}: {words}", self.text)

    def until_listening(self) -> None:
        until(lambda: f"this VM is {self.name}" in self.text(), f"{self.name} listens", self.text)


@dataclass
class ContainerRegion:
    """A server beside one engine, whose containers count at two hosts."""

    daemon: Daemon
    server: ServerProgram
    boots: Path
    relaunch: Callable[[], ServerProgram]
    _anew: bool = False

    def forewarn(self, *words: str) -> str:
        return forewarn(self.server, beside(self.daemon), *words)

    def facts(self, *names: str) -> list[dict[str, Any]]:
        return facts(self.server, beside(self.daemon), *names)

    def run(
        self,
        name: str,
        number: int,
        host: str = HOSTS[0],
        *,
        words: Sequence[str] = (),
        stubborn: bool = False,
        **settings: Any,
    ) -> Contained:
        """A container made by hand, and adopted, with those words more; a stubborn one's agent approves nothing."""
        places = {"EndpointsConfig": {NETWORK: {"IPAMConfig": {"IPv4Address": f"169.254.169.{number}"}}}}
        given = {
            "NetworkMode": NETWORK,
            "CapDrop": ["NET_RAW"],
            "Binds": [f"{self.boots}:/boots"],
            **settings,
        }
        body = {
            "Image": IMAGE,
            "Cmd": ["/bin/sh", "/inside/contained"],
            "Env": [f"NAME={name}", f"VERDICT={'ignore' if stubborn else 'prepare-then-approve'}"],
            "Labels": {"forewarn.host": host},
            "HostConfig": given,
            "NetworkingConfig": places,
        }
        self.daemon.run(name, body)
        self.forewarn("machine", "adopt", f"{host}/{name}", "--way", "network", *words)
        return Contained(name, self.boots)

    def restart(self) -> None:
        """The server is killed, and another goes on with what it had; by the same words."""
        self.server.kill()
        self.server.close()
        self.server = self.relaunch()
        self.server.await_ready()
        self._anew = True

    def end(self) -> None:
        """A server that was started anew is nobody else's to end."""
        if self._anew:
            self.server.kill()
            self.server.close()

    def ended(self, kind: str) -> list[str]:
        over = self.facts("ErrandEnded")
        return [each["body"]["vm"] for each in over if each["body"]["kind"] == kind]

    def until_ended(self, kind: str, count: int) -> None:
        until(lambda: len(self.ended(kind)) >= count, f"{count} times {kind}", self.logs)

    def logs(self) -> str:
        told = [self.server.log.read_text()[-3000:], self.forewarn("machine", "list", "--json")]
        return "\n".join([*told, *(json.dumps(each) for each in self.facts() if "Errand" in each["fact"])])


@contextmanager
def container_region(
    daemon: Daemon, room: Path, *options: str, tables: str = "", metadata: str = f"{METADATA}:80"
) -> Iterator[ContainerRegion]:
    """The network of docs/machines.md. The engine's own end of it, its gateway, stands for forewarn's container.

    With ``metadata`` elsewhere, a relay may take that place.
    """
    load_image(daemon)
    ipam = {"Config": [{"Subnet": "169.254.169.0/24", "Gateway": METADATA}]}
    daemon.do("POST", "/networks/create", body={"Name": NETWORK, "Driver": "bridge", "IPAM": ipam})
    boots = room / "boots"
    boots.mkdir()
    config = room / "region.toml"
    tables += f'[[engine]]\nname = "local"\nkind = "docker"\nsocket = "{daemon.path}"\nnode = "here"\n'
    for number, host in enumerate(HOSTS):
        tables += f'[[host]]\nname = "{host}"\nengine = "local"\nadded = true\ncapacity = 60\n'
        tables += f"update_domain = {number}\nfault_domain = {number}\n"
    config.write_text(_SETTINGS + f'locks = "{room}"\n' + tables)
    # an engine's bridge is there once a container is; podman makes it with the first one
    anchor = {"HostConfig": {"NetworkMode": NETWORK, "CapDrop": ["NET_RAW"]}}
    daemon.run("anchor", anchor)
    try:
        words: tuple[str | Path, ...] = ("--config", config, *_OPTIONS, *options)
        begin = partial(launch, beside(daemon), room / "data", metadata, *words)
        with serving(beside(daemon), room / "data", metadata, *words) as server:
            region = ContainerRegion(daemon, server, boots, begin)
            yield region
            region.end()
    finally:
        daemon.clear()
        daemon.do("DELETE", f"/networks/{NETWORK}")


def beside(daemon: Daemon) -> tuple[str, ...]:
    """In the engine's network, and else outside: what is started so is its own process, and can be killed."""
    return ("nsenter", next(word for word in daemon.inside if word.startswith("--target=")), "--net", "--")


def load_image(daemon: Daemon, name: str = IMAGE, *words: str) -> None:
    """The tree of ``tests.platforms.guests`` as an image of one layer."""
    files = tree()
    archive = HOME / f"image-{files.name}.tar"
    if not archive.exists():
        half = archive.with_suffix(".half")
        with tarfile.open(half, "w") as tar:
            tar.add(files, ".")
            for tool in _TOOLS:
                link = tarfile.TarInfo(f"bin/{tool}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(link)
        half.rename(archive)
    import_archive(daemon, archive, name, *words)

"""Several nodes on one PostgreSQL, each a process of its own, and HAProxy before them as docs/nodes.md has it."""

from __future__ import annotations

import json
import os
import re
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode, urlsplit

from forewarn.core.specs import DEFAULT_RESOURCE_GROUP
from forewarn.plane.clock import wall_time
from forewarn.web.documents.whereabouts import SUBSCRIPTION, TENANT
from forewarn.web.resource_manager.login.tls import prepare
from tests.e2e.program import EVENTS, PATIENCE_SECONDS, ROOT, Answer, ServerProgram, clean_environment
from tests.ports import free_port
from tests.waiting import until

TOKEN = "sesame"
HOST = "region.example"  # what clients call the balancer
NAMES = ("alpha", "beta", "gamma")
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{DEFAULT_RESOURCE_GROUP}"
VERSION = "api-version=2024-11-01"
QUICK = ("--reboot-impact", "1s", "--recovery-user-restart", "1s")

_BALANCER = "127.0.7.10"
_ADDRESSES = dict(zip(NAMES, ("127.0.7.1", "127.0.7.2", "127.0.7.3"), strict=True))
_HOSTS = (HOST, _BALANCER, *_ADDRESSES.values())
_BLOCK = re.compile(r"<!-- haproxy(?P<which>.*?) -->\n```haproxy\n(?P<text>.*?)```", re.DOTALL)


@dataclass
class Nodes:
    """The nodes of one region. They have the same ports, on addresses of their own: 127.0.7.1, .2 and .3."""

    store: str
    directory: Path
    options: tuple[str, ...] = ()
    control_port: int = field(default_factory=free_port)
    manager_port: int = field(default_factory=free_port)
    metadata_port: int = field(default_factory=free_port)
    running: dict[str, ServerProgram] = field(default_factory=dict)

    def launch(self, name: str, *options: str | Path) -> ServerProgram:
        """Start a node and do not wait."""
        address = _ADDRESSES[name]
        env = clean_environment(
            FOREWARN_STORE=self.store,
            FOREWARN_TOKEN=TOKEN,
            FOREWARN_NODE_NAME=name,
            FOREWARN_HOSTS=",".join(_HOSTS),
            FOREWARN_TRUSTED_PROXIES="127.0.0.1",  # from where HAProxy speaks to other addresses of loopback
        )
        places = {
            "--metadata": self.metadata_port,
            "--control": self.control_port,
            "--resource-manager": self.manager_port,
        }
        given = [word for flag, port in places.items() for word in (flag, f"{address}:{port}")]
        node = ServerProgram.launch(self.directory / name, *given, *QUICK, *self.options, *options, env=env)
        self.running[name] = node
        return node

    def start(self, name: str, *options: str | Path) -> ServerProgram:
        """Start a node, perhaps once more, and wait for it."""
        if name in self.running:
            self[name].close()
        node = self.launch(name, *options)
        node.await_ready()
        return node

    def close(self) -> None:
        for node in self.running.values():
            node.kill()
            node.close()

    def __getitem__(self, name: str) -> ServerProgram:
        return self.running[name]

    def leader(self) -> str:
        """Who leads, once somebody does."""
        return until(lambda: next((name for name in self.running if ready(self[name])[1].get("leads")), ""), "a leader")

    def facts(self, kind: str = "") -> list[dict[str, Any]]:
        """What is in the journal, as the first node that answers tells it."""
        node = next(node for node in self.running.values() if node.process.poll() is None)
        records = json.loads("[" + ",".join(node.forewarn("journal", "export").splitlines()) + "]")
        return [record for record in records if not kind or record["fact"] == kind]


@contextmanager
def nodes(store: str, directory: Path, *options: str, names: tuple[str, ...] = NAMES) -> Iterator[Nodes]:
    """Nodes that started together, all ready."""
    found = Nodes(store, directory, options)
    try:
        _share_an_authority(found)
        for name in names:
            found.launch(name)
        for name in names:
            found[name].await_ready()
        yield found
    finally:
        found.close()


def _share_an_authority(found: Nodes) -> None:
    """As docs/nodes.md tells it: the same authority in every node's directory."""
    first = prepare(found.directory / "authority", _HOSTS, wall_time())
    for name in NAMES:
        place = found.directory / name / "tls"
        place.mkdir(parents=True, mode=0o700)
        for part in ("ca.pem", "ca-key.pem"):
            (place / part).write_bytes((first.authority.parent / part).read_bytes())


def ask(
    url: str,
    method: str,
    path: str,
    body: Any = None,
    *,
    headers: Mapping[str, str] | None = None,
    trust: Path | None = None,
) -> Answer:
    """One request of somebody who knows the token, on a connection of its own."""
    with open_connection(url, trust) as connection:
        return ask_on(connection, method, path, body, headers=headers)


@contextmanager
def open_connection(url: str, trust: Path | None = None) -> Iterator[HTTPConnection]:
    parts = urlsplit(url)
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=str(trust))
        connection: HTTPConnection = HTTPSConnection(
            parts.hostname or "", parts.port, timeout=PATIENCE_SECONDS, context=context
        )
    else:
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_SECONDS)
    try:
        yield connection
    finally:
        connection.close()


def ask_on(
    connection: HTTPConnection, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None
) -> Answer:
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", **(headers or {})}
    connection.request(method, path, content, fields)
    response = connection.getresponse()
    return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())


def log_in(url: str, trust: Path) -> dict[str, str]:
    """A service principal's token from a Resource Manager, as the header that shows it."""
    form = urlencode({"grant_type": "client_credentials", "client_id": "x", "client_secret": TOKEN}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = ask(url, "POST", f"/{TENANT}/oauth2/v2.0/token", form, headers=headers, trust=trust)
    return {"Authorization": f"Bearer {json.loads(answer.body)['access_token']}"}


def ready(node: ServerProgram) -> tuple[int, dict[str, Any]]:
    """What a node says of its readiness; 0 where nobody answers."""
    try:
        answer = ask(node.health or node.control, "GET", "/health/ready")
    except OSError:
        return 0, {}
    return answer.status, json.loads(answer.body)


@dataclass(frozen=True)
class Balancer:
    """A running HAProxy. Both faces are https; ``trust`` is who vouches for it and for the nodes."""

    control: str
    manager: str
    trust: Path
    admin: Path

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        """A request to the control face, under the name that clients use."""
        return ask(self.control, method, path, body, headers=self.named(self.control), trust=self.trust)

    def manage(self, bearer: Mapping[str, str], method: str, path: str) -> Answer:
        """A request to the Resource Manager."""
        return ask(self.manager, method, path, headers={**self.named(self.manager), **bearer}, trust=self.trust)

    def named(self, url: str) -> dict[str, str]:
        return {"Host": f"{HOST}:{urlsplit(url).port}"}

    def servers(self, backend: str) -> dict[str, str]:
        """What it thinks of the nodes behind it: their names, and UP or DOWN."""
        with socket.socket(socket.AF_UNIX) as admin:
            admin.settimeout(PATIENCE_SECONDS)
            admin.connect(str(self.admin))
            admin.sendall(b"show stat\n")
            text = b"".join(iter(lambda: admin.recv(65536), b"")).decode()
        rows = [line.split(",") for line in text.splitlines() if line and not line.startswith("#")]
        return {
            row[1]: row[17].split()[0] for row in rows if row[0] == backend and row[1] not in ("BACKEND", "FRONTEND")
        }

    def await_servers(self, **wanted: str) -> None:
        """Until both backends see the nodes so."""
        for backend in ("control", "resource-manager"):
            # Called before the loop goes on
            until(lambda: wanted.items() <= self.servers(backend).items(), f"{wanted} in {backend}")  # noqa: B023


def documented(which: str = "") -> str:
    """A configuration as docs/nodes.md shows it."""
    blocks = {
        found["which"].strip(": "): found["text"] for found in _BLOCK.finditer((ROOT / "docs/nodes.md").read_text())
    }
    return blocks[which]


@contextmanager
def balancer(region: Nodes, *, tls_ends_here: bool = False) -> Iterator[Balancer]:
    """HAProxy with the documented configuration, before the nodes of a region."""
    directory = region.directory
    with ExitStack() as stack:
        files = prepare(directory / "authority", _HOSTS, wall_time())
        admin = Path(stack.enter_context(TemporaryDirectory(prefix="forewarn-"))) / "admin.sock"  # a short path
        text = documented()
        if tls_ends_here:
            text = text[: text.index("# The Resource Manager's TLS passes through")] + documented("tls ends here")
        (directory / "forewarn.pem").write_bytes(files.certificate.read_bytes() + files.key.read_bytes())
        for before, after in (
            ("10.0.0.", "127.0.7."),
            (":16926", f":{region.control_port}"),
            (":16927", f":{region.manager_port}"),
            ("/run/haproxy/admin.sock", str(admin)),
            ("/etc/haproxy/forewarn-ca.pem", str(files.authority)),
            ("/etc/haproxy/forewarn.pem", str(directory / "forewarn.pem")),
        ):
            text = text.replace(before, after)
        (directory / "haproxy.cfg").write_text(text)
        log = stack.enter_context((directory / "haproxy.log").open("w"))
        command = ["haproxy", "-db", "-f", str(directory / "haproxy.cfg")]
        path = {"PATH": f"{os.environ['PATH']}:/usr/sbin"}  # where Debian keeps it
        process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log, env=path))
        stack.callback(process.kill)
        found = Balancer(
            f"https://{_BALANCER}:{region.control_port}",
            f"https://{_BALANCER}:{region.manager_port}",
            files.authority,
            admin,
        )
        until(lambda: found.admin.exists() or _died(process, directory), "HAProxy")
        found.await_servers(**dict.fromkeys(region.running, "UP"))
        yield found


def _died(process: subprocess.Popen[bytes], directory: Path) -> bool:
    assert process.poll() is None, (directory / "haproxy.log").read_text()
    return False


def enabled(node: ServerProgram, vm: str) -> dict[str, Any]:
    """Its document, once the node has heard of the VM."""
    answer = ask(node.metadata, "GET", f"/vm/{vm}{EVENTS}", headers={"Metadata": "true"})
    return answer.document if answer.status == 200 else {}


@contextmanager
def waiting_get(node: ServerProgram, vm: str, incarnation: int) -> Iterator[HTTPConnection]:
    """A request for news that is with the node: what it was sent before on the same connection is answered."""
    reader = HTTPConnection(urlsplit(node.metadata).netloc, timeout=60)
    headers = {"Metadata": "true"}
    try:
        reader.request("GET", f"/vm/{vm}{EVENTS}", headers=headers)
        assert json.loads(reader.getresponse().read())["DocumentIncarnation"] == incarnation
        waiting = {**headers, "If-None-Match": f'"{incarnation}"', "Prefer": "wait=60"}
        reader.request("GET", f"/vm/{vm}{EVENTS}", headers=waiting)
        yield reader
    finally:
        reader.close()


def listed(front: Balancer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(front.ask("GET", "/v1/nodes").body)["nodes"]
    return found

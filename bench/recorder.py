"""What clients at hand really send: each polls twice on loopback, and its request goes into ``clients.json``.

``python -m bench.recorder [DIRECTORY]`` writes the file anew. DIRECTORY is where Debian's package resource-agents was
unpacked (``dpkg -x``); without it the request of azure-events-az stays as it was. So does what is not at hand.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = Path(__file__).with_name("clients.json")
_TARGET = "/metadata/scheduledevents?api-version=2020-07-01"
_BODY = b'{"DocumentIncarnation":1,"Events":[]}'
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n\r\n%b"
_PATIENCE_SECONDS = 60

_PYTHON = {
    "Python urllib": """
import urllib.request
for _ in range(2):
    urllib.request.urlopen(urllib.request.Request(URL, headers={"Metadata": "true"})).read()
""",
    "Python requests": """
import requests
for _ in range(2):
    requests.get(URL, headers={"Metadata": "true"}).json()
""",
    "Python requests, a session": """
import requests
session = requests.Session()
for _ in range(2):
    session.get(URL, headers={"Metadata": "true"}).json()
""",
    "forewarn's library": """
from forewarn.guest.client import Client
with Client(URL.partition("/metadata/")[0]) as client:
    for _ in range(2):
        client.document()
""",
}
_NODE = {
    "Node fetch": """
for (let n = 0; n < 2; n++) {
  await (await fetch(URL_, {headers: {Metadata: "true"}})).json();
  await new Promise(done => setTimeout(done, 1000));
}
""",
    "Node http": """
const {get} = await import("node:http");
for (let n = 0; n < 2; n++) await new Promise(done =>
  get(URL_, {headers: {Metadata: "true"}}, answer => answer.resume().on("end", () => setTimeout(done, 1000))));
""",
}
_RESOURCE_AGENT = """
import importlib.machinery, importlib.util, os, sys
os.environ["OCF_FUNCTIONS_DIR"] = DIRECTORY + "/usr/lib/ocf/lib/heartbeat"
path = DIRECTORY + "/usr/lib/ocf/resource.d/heartbeat/azure-events-az"
loader = importlib.machinery.SourceFileLoader("agent", path)
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("agent", loader))
loader.exec_module(module)
module.azHelper.metadata_host = URL.partition("/scheduledevents")[0]
for _ in range(2):
    module.azHelper.pullScheduledEvents()
"""


@dataclass(frozen=True)
class Client:
    """One kind of client. In ``request`` the target and the host stand as ``{target}`` and ``{host}``."""

    name: str
    version: str
    kept: bool  # whether its second poll came on the connection of the first
    request: str
    source: str  # how the request became known


def clients() -> list[Client]:
    """As they are recorded in the file beside this module."""
    return [Client(**each) for each in json.loads(FILE.read_text(encoding="utf-8"))]


class _Listener:
    """Answers whoever comes with an empty document, and keeps what was asked on which connection."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, bytes]] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        number = 0
        while True:
            connection, _ = self._socket.accept()
            threading.Thread(target=self._answer, args=(number, connection), daemon=True).start()
            number += 1

    def _answer(self, number: int, connection: socket.socket) -> None:
        data = b""
        with connection:
            while received := connection.recv(65_536):
                data += received
                if data.endswith(b"\r\n\r\n"):
                    self.asked.append((number, data))
                    connection.sendall(_ANSWER % (len(_BODY), _BODY))
                    if b"connection: close" in data.lower():
                        return
                    data = b""


def _recorded(name: str, version: str, commands: list[list[str]]) -> Client:
    """Run commands with ``{url}`` in their arguments; they ask twice in all."""
    listener = _Listener()
    host = f"127.0.0.1:{listener.port}"
    env = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    for command in commands:
        filled = [part.replace("{url}", f"http://{host}{_TARGET}") for part in command]
        subprocess.run(filled, check=True, env=env, timeout=_PATIENCE_SECONDS, stdout=subprocess.DEVNULL)
    polls = [(number, data) for number, data in listener.asked if b"scheduledevents" in data]
    (first, data), (second, _) = polls[-2:]
    target = data.split(b" ")[1].decode()
    request = data.decode("latin-1").replace(target, "{target}", 1).replace(host, "{host}")
    return Client(name, version, first == second, request, "recorded on loopback")


def _told(*command: str) -> str:
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    return (said.stdout or said.stderr).splitlines()[0].strip()


def _by_programs() -> list[Client]:
    """One process for each poll, as a shell script or cron makes them."""
    found = []
    if curl := shutil.which("curl"):
        command = [curl, "-s", "-H", "Metadata: true", "--noproxy", "*", "{url}"]
        found.append(_recorded("curl", _told(curl, "--version").split(" (")[0], [command, command]))
    if wget := shutil.which("wget"):
        command = [wget, "-q", "-O", "-", "--header=Metadata: true", "{url}"]
        found.append(_recorded("wget", _told(wget, "--version").split(" built")[0], [command, command]))
    return found


def _by_languages(directory: str | None) -> list[Client]:
    python = [sys.executable, "-c"]
    found = []
    for name, code in _PYTHON.items():
        version = f"Python {sys.version.split()[0]}"
        if "requests" in name:
            version += f", requests {_told(*python, 'import requests; print(requests.__version__)')}"
        found.append(_recorded(name, version, [[*python, f"URL = '{{url}}'\n{code}"]]))
    if node := shutil.which("node"):
        for name, code in _NODE.items():
            command = [node, "--input-type=module", "-e", f"const URL_ = '{{url}}';\n{code}"]
            found.append(_recorded(name, f"Node {_told(node, '--version')}", [command]))
    if directory:
        code = f"URL, DIRECTORY = '{{url}}', {directory!r}\n{_RESOURCE_AGENT}"
        found.append(_recorded("azure-events-az", "resource-agents of Debian 12", [[*python, code]]))
    return found


def main() -> None:
    """Record what is at hand; what is not stays as it was."""
    known = {each.name: each for each in clients()} if FILE.exists() else {}
    for each in [*_by_programs(), *_by_languages(next(iter(sys.argv[1:]), None))]:
        known[each.name] = each
    FILE.write_text(json.dumps([asdict(each) for each in known.values()], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

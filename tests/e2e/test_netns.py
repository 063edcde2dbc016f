"""Guests where Azure's guests are: 169.254.169.254:80, inside network namespaces and over links between them.

All of it happens in a realm of its own, namespaces made for the test: nothing of the machine's network is touched, and
everything is gone when its first process is.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import EVENTS, PATIENCE_SECONDS, ServerProgram, clean_environment

GUEST_URL = f"http://169.254.169.254{EVENTS}"
_PATIENT = ("--retry", "40", "--retry-connrefused", "--retry-delay", "1")
_OPTIONS = ("--clock", "virtual", "--log-level", "info")


@dataclass(frozen=True)
class Realm:
    """A network, and a place for the names of further ones, that only this test can see."""

    wrapper: tuple[str, ...]

    @staticmethod
    @contextmanager
    def made() -> Iterator[Realm]:
        """As root where that is allowed, and as the root of a user namespace where it is not."""
        for user in ((), ("--user", "--map-root-user")):
            holder = subprocess.Popen(
                ["unshare", "--net", "--mount", *user, "sh", "-c", _HOLD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            with holder:
                assert holder.stdout is not None
                if holder.stdout.readline() == "here\n":
                    entry = ("--user", "--preserve-credentials") if user else ()
                    yield Realm(("nsenter", f"--target={holder.pid}", "--net", "--mount", *entry, "--"))
                    return
        raise AssertionError("no network namespace can be made here, neither as root nor in a user namespace")

    def run(self, *command: str, netns: str = "") -> str:
        """A command in the realm, or in a namespace of it; what it printed."""
        inside = ("ip", "netns", "exec", netns) if netns else ()
        done = subprocess.run(
            [*self.wrapper, *inside, *command],
            env=clean_environment(PATH=f"{os.environ['PATH']}:/usr/sbin:/sbin"),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def make_guest(self, name: str) -> None:
        """A namespace for one VM, in which the service's address leads nowhere but to us."""
        self.run("ip", "netns", "add", name)
        self.run("ip", "link", "set", "lo", "up", netns=name)
        self.run("ip", "address", "add", "169.254.169.254/32", "dev", "lo", netns=name)

    def curl(self, netns: str, *arguments: str) -> tuple[int, str]:
        """Status and body of a request out of a namespace. The server may still be on its way into it."""
        command = ("curl", "-s", "--noproxy", "*", "-w", "\n%{http_code}", *_PATIENT, *arguments)
        told = self.run(*command, netns=netns)
        body, _, status = told.rpartition("\n")
        return int(status), body

    def document(self, netns: str, url: str = GUEST_URL) -> dict[str, Any]:
        status, body = self.curl(netns, "-H", "Metadata:true", url)
        assert status == 200, body
        found: dict[str, Any] = json.loads(body)
        return found

    def serve(self, data: Path, *options: str) -> Any:
        return ServerProgram.start(data, *_OPTIONS, *options, wrapper=self.wrapper)

    def forewarn(self, server: ServerProgram, *arguments: str) -> str:
        """A client command in the realm, where the server's loopback is."""
        return self.run(str(server.program), *arguments, "--url", server.control)


# Holds the realm until its input ends. /run becomes its own, because that is where namespaces have their names.
_HOLD = "mount -t tmpfs tmpfs /run && ip link set lo up && echo here && exec cat"


@pytest.fixture
def realm() -> Iterator[Realm]:
    with Realm.made() as made:
        yield made


def _ids(document: dict[str, Any]) -> list[str]:
    return [event["EventId"] for event in document["Events"]]


def test_a_vm_in_a_namespace_finds_its_own_document_at_azures_address(realm: Realm, tmp_path: Path) -> None:
    realm.make_guest("red")
    realm.make_guest("blue")
    with realm.serve(tmp_path / "data") as server:
        realm.forewarn(server, "vm", "create", "ruby", "--netns", "red")
        realm.forewarn(server, "vm", "create", "sky", "--netns", "blue")
        first = realm.document("red"), realm.document("blue")
        realm.forewarn(server, "vm", "restart", "ruby")
        second = realm.document("red"), realm.document("blue")

    empty = {"DocumentIncarnation": 1, "Events": []}
    assert first == (empty, empty)
    assert second[0]["Events"][0]["Resources"] == ["ruby"]
    assert second[1] == empty


def test_a_vm_in_a_namespace_approves_its_own_event_and_no_other(realm: Realm, tmp_path: Path) -> None:
    realm.make_guest("red")
    realm.make_guest("blue")
    with realm.serve(tmp_path / "data") as server:
        realm.forewarn(server, "vm", "create", "ruby", "--netns", "red")
        realm.forewarn(server, "vm", "create", "sky", "--netns", "blue")
        realm.document("red"), realm.document("blue")
        realm.forewarn(server, "vm", "restart", "ruby")
        (event_id,) = _ids(realm.document("red"))
        approval = json.dumps({"StartRequests": [{"EventId": event_id}]})
        post = ("-H", "Metadata:true", "-d", approval, GUEST_URL)
        stranger = realm.curl("blue", *post)
        between = realm.document("red")
        owner = realm.curl("red", *post)
        after = realm.document("red")

    assert stranger[0] == 400
    assert between["Events"][0]["EventStatus"] == "Scheduled"
    assert owner == (200, "")
    assert after["Events"][0]["EventStatus"] == "Started"


def test_in_a_namespace_a_name_in_the_path_is_refused(realm: Realm, tmp_path: Path) -> None:
    realm.make_guest("red")
    with realm.serve(tmp_path / "data") as server:
        realm.forewarn(server, "vm", "create", "ruby", "--netns", "red")
        realm.forewarn(server, "vm", "create", "sky")
        realm.document("red")
        answers = [
            realm.curl("red", "-H", "Metadata:true", f"http://169.254.169.254/vm/{name}{EVENTS}")
            for name in ("sky", "ruby", "nobody")
        ]
        scopes = json.loads(realm.forewarn(server, "scope", "list", "--json"))

    assert {status for status, _ in answers} == {404}
    assert len({body for _, body in answers}) == 1
    assert "vm/sky" not in [scope["key"] for scope in scopes if scope["enabled_at"]]


def test_in_a_namespace_the_instance_is_the_vm_that_lives_there(realm: Realm, tmp_path: Path) -> None:
    realm.make_guest("red")
    with realm.serve(tmp_path / "data") as server:
        realm.forewarn(server, "vm", "create", "ruby", "--netns", "red")
        url = "http://169.254.169.254/metadata/instance/compute/name?api-version=2021-02-01&format=text"
        answer = realm.curl("red", "-H", "Metadata:true", url)

    assert answer == (200, "ruby")


def test_a_namespace_that_comes_late_or_is_made_anew_is_found(realm: Realm, tmp_path: Path) -> None:
    with realm.serve(tmp_path / "data") as server:
        realm.forewarn(server, "vm", "create", "ruby", "--netns", "red")
        realm.make_guest("red")
        late = realm.curl("red", "-H", "Metadata:true", GUEST_URL)
        realm.run("ip", "netns", "delete", "red")
        realm.make_guest("red")
        anew = realm.curl("red", "-H", "Metadata:true", GUEST_URL)

    assert late == (200, '{"DocumentIncarnation":1,"Events":[]}')
    assert anew == late


def test_the_namespace_of_a_running_process_can_be_given_a_name(realm: Realm, tmp_path: Path) -> None:
    with subprocess.Popen(
        [*realm.wrapper, "unshare", "--net", "sh", "-c", "echo $$ && exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as container:
        assert container.stdout is not None
        realm.run("ip", "netns", "attach", "red", container.stdout.readline().strip())
        realm.run("ip", "link", "set", "lo", "up", netns="red")
        realm.run("ip", "address", "add", "169.254.169.254/32", "dev", "lo", netns="red")
        with realm.serve(tmp_path / "data") as server:
            realm.forewarn(server, "vm", "create", "ruby", "--netns", "red")
            document = realm.document("red")

    assert document == {"DocumentIncarnation": 1, "Events": []}


def test_a_server_that_comes_back_listens_in_its_namespaces_again(realm: Realm, tmp_path: Path) -> None:
    realm.make_guest("red")
    with realm.serve(tmp_path / "data") as server:
        realm.forewarn(server, "vm", "create", "ruby", "--netns", "red")
        realm.document("red")
        realm.forewarn(server, "vm", "restart", "ruby")
        before = realm.document("red")
    with realm.serve(tmp_path / "data"):
        after = realm.document("red")

    assert after == before


def _link(realm: Realm, name: str, addresses: tuple[str, ...]) -> None:
    """A guest behind a wire: its namespace has none of our addresses, only a way to them."""
    realm.run("ip", "netns", "add", name)
    realm.run("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
    realm.run("ip", "address", "add", "10.77.0.1/24", "dev", f"to-{name}")
    realm.run("ip", "link", "set", f"to-{name}", "up")
    for address in addresses:
        realm.run("ip", "address", "add", f"{address}/24", "dev", "eth0", netns=name)
    realm.run("ip", "link", "set", "eth0", "up", netns=name)
    realm.run("ip", "route", "add", "169.254.169.254/32", "via", "10.77.0.1", netns=name)


def test_beyond_loopback_a_vm_is_known_by_its_source_address_alone(realm: Realm, tmp_path: Path) -> None:
    realm.run("ip", "address", "add", "169.254.169.254/32", "dev", "lo")
    _link(realm, "rack", ("10.77.0.2", "10.77.0.3", "10.77.0.4"))
    with realm.serve(tmp_path / "data", "--metadata", "169.254.169.254:80") as server:
        realm.forewarn(server, "vm", "create", "ruby", "--address", "10.77.0.2")
        realm.forewarn(server, "vm", "create", "sky", "--address", "10.77.0.3")
        header = ("-H", "Metadata:true")
        ruby = realm.curl("rack", *header, "--interface", "10.77.0.2", GUEST_URL)
        realm.curl("rack", *header, "--interface", "10.77.0.3", GUEST_URL)
        realm.forewarn(server, "vm", "restart", "sky")
        both = [json.loads(realm.curl("rack", *header, "--interface", f"10.77.0.{n}", GUEST_URL)[1]) for n in (2, 3)]
        unknown = realm.curl("rack", *header, "--interface", "10.77.0.4", GUEST_URL)
        named = [
            realm.curl("rack", *header, "--interface", f"10.77.0.{n}", f"http://169.254.169.254/vm/sky{EVENTS}")
            for n in (2, 3, 4)
        ]

    assert ruby == (200, '{"DocumentIncarnation":1,"Events":[]}')
    assert [len(document["Events"]) for document in both] == [0, 1]
    assert unknown[0] == 404
    assert named == [unknown] * 3


def test_beyond_loopback_a_single_vm_is_not_guessed(realm: Realm, tmp_path: Path) -> None:
    """The convenience of a desk, where one VM needs no name, would hand it to whoever calls."""
    realm.run("ip", "address", "add", "169.254.169.254/32", "dev", "lo")
    _link(realm, "rack", ("10.77.0.2",))
    with realm.serve(tmp_path / "data", "--metadata", "169.254.169.254:80") as server:
        realm.forewarn(server, "vm", "create", "ruby")
        status, _ = realm.curl("rack", "-H", "Metadata:true", GUEST_URL)
        (scope,) = json.loads(realm.forewarn(server, "vm", "list", "--json"))

    assert status == 404
    assert scope["name"] == "ruby"

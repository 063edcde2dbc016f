"""Who is calling, and that nobody is taken for somebody else."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from forewarn.core.commands import BindVm, DeleteVms
from forewarn.core.facts import VmBound
from forewarn.core.specs import Binding
from forewarn.plane.ports import Entry, Origin
from forewarn.web.metadata.http.namespaces import NAMESPACES, enter
from forewarn.web.metadata.settings import MetadataSettings
from tests.e2e.metadata_region import NOON, Guest, MetadataRegion, get, metadata_region, request


def _name(guest: Guest, prefix: str = "") -> str | int:
    """Who the face takes this caller for; the status where it takes it for nobody."""
    answer = guest.ask(request("GET", f"{prefix}/metadata/instance?api-version=2021-12-13", "Metadata: true"))
    return str(json.loads(answer.body)["compute"]["name"]) if answer.status == 200 else answer.status


def test_a_single_vm_needs_no_name_on_loopback() -> None:
    with metadata_region() as region:
        region.create("web")
        assert _name(region.guest()) == "web"


def test_with_two_vms_a_caller_must_say_who_it_is() -> None:
    with metadata_region() as region:
        region.create("web", "other")
        guest = region.guest()
        assert [_name(guest), _name(guest, "/vm/other"), _name(guest, "/vm/web")] == [404, "other", "web"]


def test_a_remembered_caller_without_a_name_is_unknown_once_there_is_a_second_vm() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        assert [guest.ask(get()).status for _ in range(3)] == [200, 200, 200]
        region.create("other")
        assert guest.ask(get()).status == 404


def test_an_unknown_caller_learns_nothing() -> None:
    with metadata_region() as region:
        region.create("web", "other")
        guest = region.guest()
        answers = [
            guest.ask(request("GET", target, "Metadata: true"))
            for target in (
                "/metadata/scheduledevents?api-version=2020-07-01",
                "/metadata/scheduledevents",
                "/metadata/instance?api-version=2021-12-13",
                "/metadata/versions",
                "/vm/nobody/metadata/versions",
                "/metadata/nothing-like-it",
            )
        ]
        assert {(answer.status, answer.body) for answer in answers} == {(404, b'{"error":"Not found"}')}
        assert len(region.plane.region.scopes) == 0


def test_a_source_address_is_stronger_than_a_name() -> None:
    with metadata_region() as region:
        region.create("web", binding=Binding(address="127.0.0.2"))
        region.create("other")
        guest = region.guest(source="127.0.0.2")
        assert _name(guest) == "web"
        assert _name(guest, "/vm/other") == 404
        assert _name(guest, "/vm/web") == 404
        assert _name(region.guest(), "/vm/other") == "other"


def test_a_new_binding_counts_on_a_connection_that_is_open() -> None:
    with metadata_region() as region:
        region.create("web", binding=Binding(address="127.0.0.2"))
        region.create("other")
        guest = region.guest(source="127.0.0.2")
        first = [guest.ask(get()).status for _ in range(3)]
        region.submit(BindVm("web", Binding()))
        region.submit(BindVm("other", Binding(address="127.0.0.2")))
        assert (first, _name(guest)) == ([200, 200, 200], "other")
        region.get("other")
        event = region.restart("other")
        assert event.encode() in guest.ask(get()).body


def test_a_local_address_is_one_vms_own() -> None:
    with metadata_region() as region:
        region.create("web", binding=Binding(local_address="127.0.0.11"))
        region.create("other", binding=Binding(local_address="127.0.0.12"))
        _until_listening(region, "127.0.0.12")
        assert _name(region.guest("127.0.0.11")) == "web"
        assert _name(region.guest("127.0.0.12")) == "other"
        assert _name(region.guest("127.0.0.12"), "/vm/web") == 404
        assert _name(region.guest(), "/vm/web") == "web"


def test_a_local_address_goes_with_its_vm() -> None:
    with metadata_region() as region:
        region.create("web", binding=Binding(local_address="127.0.0.11"))
        region.create("other", binding=Binding(local_address="127.0.0.12"))
        _until_listening(region, "127.0.0.11")
        region.submit(DeleteVms(("web",), "seed"))
        region.submit(BindVm("other", Binding(local_address="127.0.0.13")))
        _until_listening(region, "127.0.0.13")
        for address in ("127.0.0.11", "127.0.0.12"):
            with pytest.raises(ConnectionRefusedError):
                region.guest(address)


def test_a_local_address_that_was_bound_before_the_start_is_listened_on_at_once() -> None:
    with metadata_region() as first:
        first.create("web", binding=Binding(local_address="127.0.0.11"))
        journal = first.plane.journal
    with metadata_region(journal=journal) as region:
        assert _name(region.guest("127.0.0.11")) == "web"


def test_beyond_loopback_neither_name_nor_loneliness_nor_local_address_counts() -> None:
    with metadata_region(host="0.0.0.0") as region:
        region.create("web", binding=Binding(local_address="127.0.0.11"))
        for guest in (region.guest(), region.guest("127.0.0.11")):
            assert [_name(guest), _name(guest, "/vm/web")] == [404, 404]


def test_beyond_loopback_a_source_address_counts() -> None:
    with metadata_region(host="0.0.0.0") as region:
        region.create("web", binding=Binding(address="127.0.0.2"))
        assert _name(region.guest(source="127.0.0.2")) == "web"
        assert _name(region.guest(source="127.0.0.2"), "/vm/web") == 404


def test_a_namespace_that_is_not_there_is_told_once_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with metadata_region(MetadataSettings(retry_seconds=0.01)) as region:
        told = _Told("forewarn-no-such-namespace")
        region.create("web", binding=Binding(netns="forewarn-no-such-namespace"))
        told.wait()
        assert _name(region.guest(), "/vm/web") == "web"
    (record,) = [found for found in caplog.records if found.levelno == logging.WARNING]
    assert "forewarn-no-such-namespace" in record.getMessage()
    assert "No such file or directory" in record.getMessage()


@pytest.mark.parametrize("name", ["../netns/x", "/etc", "..", "a/b", "a b"])
def test_a_namespace_whose_name_leads_elsewhere_is_not_opened(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """No face takes such a name any more; a journal that an older server wrote may hold one."""
    with metadata_region() as first:
        first.create("web")
        journal = first.plane.journal
    with journal.write() as block:
        block.append([Entry(VmBound(NOON, "web", Binding(netns=name)), "BindVm", Origin("operator"))])
    told = _Told("cannot name a network namespace")
    with metadata_region(journal=journal):
        told.wait()
    assert len([found for found in caplog.records if found.levelno == logging.WARNING]) == 1


@pytest.fixture
def namespaces() -> Iterator[list[str]]:
    """Two network namespaces in which 169.254.169.254 is a local address."""
    names = [f"forewarn-{os.getpid()}-{number}" for number in range(2)]
    try:
        for name in names:
            _make_namespace(name)
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def test_each_namespace_is_one_vm_and_no_name_changes_that(namespaces: list[str]) -> None:
    with metadata_region(MetadataSettings(retry_seconds=0.01)) as region:
        for number, name in enumerate(namespaces):
            told = _Told(f"Listening in network namespace {name}", logging.INFO)
            region.create(f"vm-{number}", binding=Binding(netns=name))
            told.wait()
        first, second = (_guest_in(name) for name in namespaces)
        assert [_name(first), _name(second)] == ["vm-0", "vm-1"]
        assert [_name(first, "/vm/vm-1"), _name(first, "/vm/vm-0")] == [404, 404]
        region.submit(BindVm("vm-0", Binding()))
        assert _name(first) == 404
        first.close()
        second.close()


def test_a_namespace_that_comes_later_or_anew_is_found(namespaces: list[str]) -> None:
    name = namespaces[0]
    subprocess.run(["ip", "netns", "delete", name], check=True, capture_output=True)
    with metadata_region(MetadataSettings(retry_seconds=0.01)) as region:
        told = _Told(f"Cannot listen in network namespace {name}")
        region.create("web", binding=Binding(netns=name))
        told.wait()
        for _ in range(2):
            told = _Told(f"Listening in network namespace {name}", logging.INFO)
            _make_namespace(name)
            told.wait()
            guest = _guest_in(name)
            assert _name(guest) == "web"
            guest.close()
            gone = _Told(f"No longer listening in network namespace {name}", logging.INFO)
            subprocess.run(["ip", "netns", "delete", name], check=True, capture_output=True)
            gone.wait()


def test_a_namespace_in_which_the_server_cannot_listen_is_told_of(namespaces: list[str]) -> None:
    with metadata_region(MetadataSettings(guest_address="192.0.2.256")) as region:
        told = _Told(f"Cannot listen in network namespace {namespaces[0]}")
        region.create("web", binding=Binding(netns=namespaces[0]))
        told.wait()


def test_a_file_that_is_no_namespace_is_told_of(namespaces: list[str]) -> None:
    name = namespaces[0]
    subprocess.run(["ip", "netns", "delete", name], check=True, capture_output=True)
    (NAMESPACES / name).touch()
    try:
        with metadata_region() as region:
            told = _Told("cannot enter the namespace")
            region.create("web", binding=Binding(netns=name))
            told.wait()
    finally:
        (NAMESPACES / name).unlink()


class _Told(logging.Handler):
    """Wait until the log has said something: the word comes when the work is done."""

    def __init__(self, words: str, level: int = logging.WARNING) -> None:
        super().__init__(level)
        self._words = words
        self._heard = threading.Event()
        self._logger = logging.getLogger("forewarn.web.metadata.http.listeners")
        self._logger.setLevel(logging.INFO)
        self._logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if self._words in record.getMessage():
            self._heard.set()

    def wait(self) -> None:
        try:
            assert self._heard.wait(20), f"the log never said {self._words!r}"
        finally:
            self._logger.removeHandler(self)


def _until_listening(region: MetadataRegion, address: str) -> None:
    """Connections are refused until the socket is there; there is nothing to wait on but the socket itself."""
    for _ in range(2000):
        try:
            region.guest(address).close()
        except ConnectionRefusedError:
            region.do(lambda: None)
            continue
        return
    raise AssertionError(f"nobody listens on {address}")


def _make_namespace(name: str) -> None:
    for words in (
        ["ip", "netns", "add", name],
        ["ip", "-n", name, "link", "set", "lo", "up"],
        ["ip", "-n", name, "addr", "add", "169.254.169.254/32", "dev", "lo"],
    ):
        subprocess.run(words, check=True, capture_output=True)


def _guest_in(name: str) -> Guest:
    """A connection from inside a namespace, as the VM there would make it."""
    found: list[socket.socket] = []

    def connect() -> None:
        with Path(NAMESPACES / name).open("rb") as namespace:
            enter(namespace.fileno())
        found.append(socket.create_connection(("169.254.169.254", 80), 20))

    thread = threading.Thread(target=connect)
    thread.start()
    thread.join()
    return Guest(found[0])

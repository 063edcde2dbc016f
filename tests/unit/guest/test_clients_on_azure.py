"""Both clients against servers without any courtesy of ours: what Azure does, and what a bad network does."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from forewarn.guest import Fault, Unavailable
from forewarn.guest.watch import Appeared, Ended, Ending, Started
from forewarn.terms import Document
from forewarn.wire.errors import GONE, THROTTLED
from tests.unit.guest.azure import Azure, plain, raw_server
from tests.unit.guest.shells import Guest
from tests.unit.guest.stage import ID, an_event

MakeGuest = Callable[..., Guest]
SEEN = Document(2, (an_event(),))
STARTED = Document(3, (an_event(status="Started"),))
POLL_SECONDS = 0.001


def test_a_server_without_tags_and_waiting_is_polled_through_a_whole_life(make_guest: MakeGuest) -> None:
    azure = Azure()
    with raw_server(azure.behave) as server:
        guest = make_guest(server.url, poll_seconds=POLL_SECONDS)
        assert guest.document() == Document(1)
        changes = guest.watch()
        azure.story = [Document(1), Document(1), SEEN]
        appeared = next(changes)
        guest.approve(ID)
        started = next(changes)
        azure.story = [azure.document, Document(4)]
        ended = next(changes)
    assert [type(change) for change in (appeared, started, ended)] == [Appeared, Started, Ended]
    assert isinstance(ended, Ended)
    assert ended.how == Ending.COMPLETED
    assert azure.approved == [ID]
    assert all(b"If-None-Match" not in request for request in server.requests)


@pytest.mark.parametrize(("gone", "how"), [(Document(3), Ending.CANCELED), (Document(4), Ending.UNKNOWN)])
def test_canceled_is_told_where_it_can_be_known(gone: Document, how: Ending, make_guest: MakeGuest) -> None:
    """NotBefore is years ahead, so nothing but an approval could have started it."""
    event = replace(an_event(), not_before=datetime(9999, 1, 1, tzinfo=UTC))
    azure = Azure(story=[Document(1), Document(2, (event,)), gone])
    with raw_server(azure.behave) as server:
        changes = make_guest(server.url, poll_seconds=POLL_SECONDS).watch()
        next(changes)
        ended = next(changes)
    assert isinstance(ended, Ended)
    assert ended.how == how
    assert ended.why


def test_faults_of_every_kind_in_the_middle_of_a_life_lose_nothing(make_guest: MakeGuest) -> None:
    reports: list[Fault] = []
    faults = [
        plain(410, GONE.body),
        plain(429, THROTTLED.body),
        plain(500),
        plain(200),
        None,
        plain(404),
        b"rubbish\r\n",
    ]
    azure = Azure(story=[Document(1), SEEN])
    with raw_server(azure.behave) as server:
        guest = make_guest(server.url, poll_seconds=POLL_SECONDS, on_fault=lambda fault, _: reports.append(fault))
        changes = guest.watch()
        azure.faults = [*faults]
        appeared = next(changes)
        azure.faults, azure.story = [*faults], [STARTED]
        started = next(changes)
        azure.faults, azure.story = [*faults], [Document(4)]
        ended = next(changes)
    assert [type(change) for change in (appeared, started, ended)] == [Appeared, Started, Ended]
    assert {report.status for report in reports} == {410, 429, 500, 404, None}


def test_an_old_host_is_read_approved_and_reported(make_guest: MakeGuest) -> None:
    reports: list[Fault] = []
    azure = Azure(document=SEEN, newest="2017-03-01")
    with raw_server(azure.behave) as server:
        guest = make_guest(server.url, on_fault=lambda fault, _: reports.append(fault))
        document = guest.document()
        guest.approve(ID)
    assert document is not None
    assert document.events[0].resources == ("_web-0",)
    assert guest.client.api_version == "2017-03-01"
    assert azure.versions == ["2017-03-01"] * 2
    assert azure.approved == [ID]
    assert len(reports) == 1


def test_an_instance_of_a_scale_set_is_known_by_its_name(make_guest: MakeGuest) -> None:
    with raw_server(Azure().behave) as server:
        instance = make_guest(server.url).instance()
    assert (instance.name, instance.scale_set_name) == ("web_0", "web")


def test_a_connection_that_the_server_has_closed_meanwhile_is_no_fault(make_guest: MakeGuest) -> None:
    reports: list[Fault] = []
    body = b'{"DocumentIncarnation":1}'
    answer = b"HTTP/1.1 200 OK\r\nX-Hang-Up: yes\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    with raw_server(lambda _: answer) as server:
        guest = make_guest(server.url, on_fault=lambda fault, _: reports.append(fault))
        assert [guest.document() for _ in range(3)] == [Document(1)] * 3
        assert server.connections == 3
    assert reports == []


def test_a_server_that_never_answers_is_given_up(make_guest: MakeGuest) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        guest = make_guest(
            f"127.0.0.1:{port}", timeout_seconds=0.05, first_timeout_seconds=0.05, patience_seconds=0, wait_seconds=0
        )
        with pytest.raises(Unavailable, match=r"no answer within 0\.05 s"):
            guest.document()


def test_a_server_that_answers_by_drops_is_given_up_at_the_same_time(make_guest: MakeGuest) -> None:
    """The limit is for the whole answer, not for each piece of it."""
    with raw_server(lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{") as server:
        guest = make_guest(server.url, timeout_seconds=0.05, first_timeout_seconds=0.05, patience_seconds=0)
        with pytest.raises(Unavailable, match="no answer within"):
            guest.document()


def test_a_port_where_nobody_listens_is_said_to_be_one(make_guest: MakeGuest) -> None:
    with pytest.raises(Unavailable, match="refused"):
        make_guest("127.0.0.1:1", patience_seconds=0).document()


def test_a_name_that_leads_nowhere_is_said_to_be_one(make_guest: MakeGuest) -> None:
    with pytest.raises(Unavailable):
        make_guest("no-such-host.invalid", patience_seconds=0).document()


@pytest.mark.parametrize("version", ["latest", "2020-07-01&x=y", "2020-07-01\r\n", ""])
def test_what_is_no_version_is_refused_before_anything_is_sent(version: str, make_guest: MakeGuest) -> None:
    with pytest.raises(ValueError, match="api-version"):
        make_guest("127.0.0.1:1", api_version=version)

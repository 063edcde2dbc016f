"""AgentHealth, readiness and metrics over HTTP, on a clock that stands still until it is moved."""

from __future__ import annotations

import errno
import http.client
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.agent.telling.pages import AgentHealth, StatusServer
from forewarn.guest.system import this_machine

MACHINE = this_machine()


@dataclass
class Hands:
    """A clock whose hands the test holds."""

    at: float = 1000.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def health(clock: Hands) -> AgentHealth:
    return AgentHealth(MACHINE.threads, clock, unhealthy_after_seconds=60.0, first_read_seconds=150.0)


def test_the_first_read_may_take_its_time(health: AgentHealth, clock: Hands) -> None:
    clock.at += 150
    assert health.why_unhealthy() == ""
    assert health.why_not_ready() == "the metadata service has not answered yet"
    clock.at += 1

    assert health.why_unhealthy() == "no good read in 151 s since the start"


def test_health_turns_bad_when_the_last_good_read_is_too_old_and_good_again(health: AgentHealth, clock: Hands) -> None:
    health.good_read()
    clock.at += 60
    assert health.why_unhealthy() == ""
    clock.at += 1
    assert health.why_unhealthy() == "the last good read is 61 s old"
    health.good_read()

    assert (health.why_unhealthy(), health.last_good_read_age_seconds) == ("", 0.0)


def test_a_vm_is_ready_again_when_every_event_that_took_it_out_is_over(health: AgentHealth) -> None:
    health.good_read()
    assert health.why_not_ready() == ""
    health.leave_service("A", "Reboot at noon")
    health.leave_service("B", "Freeze at one")
    assert health.why_not_ready() == "Reboot at noon; Freeze at one"
    health.return_to_service("A")
    assert health.why_not_ready() == "Freeze at one"
    health.return_to_service("B")
    health.return_to_service("B")

    assert health.why_not_ready() == ""


@pytest.fixture
def address(health: AgentHealth) -> Iterator[str]:
    server = StatusServer(MACHINE, "127.0.0.1:0", health, Metrics(MACHINE.threads))
    yield server.open()
    server.close()


def get(address: str, path: str, verb: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request(verb, path)
    answer = connection.getresponse()
    body = answer.read().decode()
    assert answer.headers["Connection"] == "close"
    connection.close()
    return answer.status, body


def test_the_pages_say_it_in_their_status_and_in_json(address: str, health: AgentHealth, clock: Hands) -> None:
    health.good_read()
    clock.at += 2
    assert get(address, "/healthz?verbose") == (
        200,
        '{"healthy":true,"why":"","last_good_read_age_seconds":2.0}\n',
    )
    assert get(address, "/readyz")[0] == 200
    clock.at += 60
    health.leave_service("A", "draining")
    status, body = get(address, "/healthz")

    assert (status, json.loads(body)["healthy"]) == (503, False)
    assert get(address, "/readyz") == (503, '{"ready":false,"why":"draining"}\n')


def test_metrics_tell_health_too(address: str, health: AgentHealth, clock: Hands) -> None:
    assert "forewarn_agent_last_good_read_age_seconds NaN\n" in get(address, "/metrics")[1]
    health.good_read()
    clock.at += 61
    text = get(address, "/metrics")[1]

    assert "forewarn_agent_healthy 0\n" in text
    assert "forewarn_agent_ready 1\n" in text
    assert "forewarn_agent_last_good_read_age_seconds 61\n" in text


def test_unknown_paths_other_methods_and_malformed_requests_are_refused_by_their_status(address: str) -> None:
    assert get(address, "/")[0] == 404
    assert get(address, "/healthz", "POST")[0] == 405
    assert get(address, "/healthz", "HEAD") == (200, "")
    host, port = address.split(":")
    for rubbish in (b"\r\n\r\n", b"GET /healthz\r\n\r\n", b"\x16\x03\x01\r\n\r\n", b"x" * 9000):
        with socket.create_connection((host, int(port)), 30) as connection:
            connection.sendall(rubbish)
            assert connection.recv(65536).startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_a_caller_that_says_nothing_keeps_nobody_else_waiting(address: str, health: AgentHealth) -> None:
    health.good_read()
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), 30):
        assert get(address, "/healthz")[0] == 200


def test_an_address_that_is_taken_is_an_error_at_once(address: str, health: AgentHealth) -> None:
    with pytest.raises(OSError) as problem:  # noqa: PT011 - its words are the system's own
        StatusServer(MACHINE, address, health, Metrics(MACHINE.threads)).open()
    assert problem.value.errno == errno.EADDRINUSE


def test_the_status_server_listens_on_ipv6_and_frees_its_address_when_closed(health: AgentHealth) -> None:
    server = StatusServer(MACHINE, "[::1]:0", health, Metrics(MACHINE.threads))
    address = server.open()
    assert address.startswith("[::1]:")
    server.close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("::1", int(address.rpartition(":")[2])), 30)

"""People are told, again and again if it must be, and never in the way of the work."""

from __future__ import annotations

import json
import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from forewarn.guest.agent.telling.channels import OCCASIONS, Teller
from forewarn.guest.agent.telling.logs import LOGGER_NAME
from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.agent.telling.sending import shown_url
from forewarn.guest.agent.values import Notification
from forewarn.guest.system import this_machine
from forewarn.terms import ScheduledEvent
from tests.receiving import Room, serving

MACHINE = this_machine()

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVENT = ScheduledEvent("A1", "Scheduled", "Reboot", ("web-0",), NOON, "", "User", -1)


@pytest.fixture
def room() -> Iterator[Room]:
    with serving(Room("")) as opened:
        opened.gate.set()
        yield opened


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)


def teller(*notifications: Notification, metrics: Metrics, pause: Callable[[float], bool] | None = None) -> Teller:
    return Teller(MACHINE, notifications, "web-0", now=lambda: NOON, metrics=metrics, pause=pause)


def test_instants_never_go_back_even_where_the_clock_does(room: Room) -> None:
    clock = iter([NOON, NOON + timedelta(seconds=30), NOON + timedelta(seconds=5), NOON + timedelta(seconds=40)])
    telling = Teller(
        MACHINE, [Notification("webhook", room.url)], "web-0", now=lambda: next(clock), metrics=Metrics(MACHINE.threads)
    )
    for occasion in ("scheduled", "preparing", "prepared", "approved"):
        telling.tell(occasion, EVENT, occasion)
    telling.close(30)
    found = [json.loads(body)["at"][-10:] for _, body in room.heard]
    assert found == ["00:00.000Z", "00:30.000Z", "00:30.000Z", "00:40.000Z"]


def go_on(seconds: float) -> bool:
    """A pause that takes no time."""
    return False


def test_a_webhook_gets_the_sentence_and_the_whole_event(room: Room) -> None:
    metrics = Metrics(MACHINE.threads)
    telling = teller(Notification("webhook", room.url), metrics=metrics)
    telling.tell("scheduled", EVENT, "Reboot in 15 min")
    telling.close(30)

    headers, body = room.heard[0]
    assert headers["Content-Type"] == "application/json"
    assert json.loads(body) == {
        "text": "web-0: Reboot in 15 min",
        "occasion": "scheduled",
        "vm": "web-0",
        "at": "2026-01-01T12:00:00.000Z",
        "event": {
            "id": "A1",
            "type": "Reboot",
            "status": "Scheduled",
            "resources": ["web-0"],
            "not_before": "2026-01-01T12:00:00Z",
            "description": "",
            "source": "User",
            "duration_seconds": -1,
        },
    }
    assert metrics.value("notifications_total", "webhook", "sent") == 1


def test_each_channel_hears_of_what_it_wants(room: Room) -> None:
    telling = teller(Notification("webhook", room.url, on=("failed", "approved")), metrics=Metrics(MACHINE.threads))
    for occasion in OCCASIONS:
        telling.tell(occasion, EVENT, occasion)
    telling.close(30)

    assert room.texts == ["web-0: failed", "web-0: approved"]


def test_a_channel_that_says_nothing_hears_of_every_occasion_and_of_nothing_else(room: Room) -> None:
    telling = teller(Notification("webhook", room.url), metrics=Metrics(MACHINE.threads))
    for occasion in (*OCCASIONS, "some remark"):
        telling.tell(occasion, EVENT, occasion)
    telling.close(30)

    assert room.texts == [f"web-0: {occasion}" for occasion in OCCASIONS]


def test_a_message_is_tried_again_with_growing_pauses_until_it_is_taken(room: Room) -> None:
    room.answers = [500, 429, 503]
    metrics, pauses = Metrics(MACHINE.threads), list[float]()

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        return False

    telling = teller(Notification("webhook", room.url), metrics=metrics, pause=pause)
    telling.tell("failed", EVENT, "no")
    telling.close(30)

    assert len(room.heard) == 4
    assert all(0.5 * 2**number <= seconds <= 2**number for number, seconds in enumerate(pauses))
    assert metrics.value("notifications_total", "webhook", "sent") == 1


@pytest.mark.parametrize("status", [302, 400, 403, 404])
def test_a_lasting_no_is_not_asked_again_and_a_redirect_is_not_followed(room: Room, status: int) -> None:
    room.answers = [status]
    metrics = Metrics(MACHINE.threads)
    telling = teller(Notification("webhook", room.url), metrics=metrics, pause=go_on)
    telling.tell("failed", EVENT, "no")
    telling.close(30)

    assert len(room.heard) == 1
    assert metrics.value("notifications_total", "webhook", "failed") == 1


@pytest.fixture
def nowhere() -> Iterator[str]:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/hooks/sesame"


def test_a_dead_channel_is_given_up_and_told_in_the_log_without_its_secret(
    room: Room, nowhere: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(LOGGER_NAME), "propagate", True)
    metrics = Metrics(MACHINE.threads)
    dead, alive = Notification("webhook", nowhere), Notification("webhook", room.url)
    telling = teller(dead, alive, metrics=metrics, pause=go_on)
    telling.tell("approved", EVENT, "yes")
    telling.close(30)

    assert room.texts == ["web-0: yes"]
    assert metrics.value("notifications_total", "webhook", "failed") == 1
    assert "was not told that web-0: Reboot approved" in caplog.text
    assert "sesame" not in caplog.text


def test_closing_ends_the_pause_between_two_tries(nowhere: str) -> None:
    metrics = Metrics(MACHINE.threads)
    telling = teller(Notification("webhook", nowhere), metrics=metrics)
    telling.tell("approved", EVENT, "yes")
    (thread,) = (each for each in threading.enumerate() if each.name == "tell-webhook")
    telling.close(0)
    thread.join(30)

    assert not thread.is_alive()
    assert metrics.value("notifications_total", "webhook", "failed") == 1


def test_when_too_many_wait_the_oldest_is_dropped() -> None:
    metrics = Metrics(MACHINE.threads)
    with serving(Room("")) as room:
        telling = teller(Notification("webhook", room.url), metrics=metrics)
        telling.tell("started", EVENT, "first")
        assert room.entered.wait(30)
        for number in range(150):
            telling.tell("started", EVENT, str(number))
        dropped = metrics.value("notifications_total", "webhook", "dropped")
        room.gate.set()
        telling.close(30)

    assert dropped == 50
    assert room.texts[:2] == ["web-0: first", f"web-0: {150 - len(room.texts) + 1}"]
    assert room.texts[-1] == "web-0: 149"


def test_an_agent_without_channels_has_no_thread_for_them() -> None:
    before = threading.active_count()
    telling = teller(Notification("webhook", "http://127.0.0.1:1", on=("failed",)), metrics=Metrics(MACHINE.threads))
    telling.tell("approved", EVENT, "yes")

    assert threading.active_count() == before
    telling.close()


APPRISE = '''
class Apprise:
    """A stand-in with the shape of the real one, which tells a file."""

    def add(self, url):
        self.url = url
        return "://" in url

    def notify(self, title, body):
        with open(self.url.partition("://")[2], "a") as file:
            file.write(f"{title}|{body}\\n")
        return True
'''


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "apprise.py").write_text(APPRISE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "apprise", raising=False)


@pytest.mark.usefixtures("stand_in")
def test_apprise_is_asked_for_its_own_addresses(tmp_path: Path) -> None:
    metrics = Metrics(MACHINE.threads)
    good, bad = Notification("apprise", f"told://{tmp_path}/told"), Notification("apprise", "nonsense")
    telling = teller(good, bad, metrics=metrics, pause=go_on)
    telling.tell("completed", EVENT, "all is well")
    telling.close(30)
    sys.modules.pop("apprise", None)

    assert (tmp_path / "told").read_text() == "web-0: Reboot completed|all is well\n"
    assert metrics.value("notifications_total", "apprise", "sent") == 1
    assert metrics.value("notifications_total", "apprise", "failed") == 1


def test_without_the_package_apprise_fails_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logging.getLogger(LOGGER_NAME), "propagate", True)
    monkeypatch.setitem(sys.modules, "apprise", None)
    telling = teller(Notification("apprise", "mailto://x"), metrics=Metrics(MACHINE.threads), pause=go_on)
    telling.tell("completed", EVENT, "all is well")
    telling.close(30)

    assert "pip install '.[notify]'" in caplog.text


@pytest.mark.filterwarnings("ignore")
def test_the_real_apprise_delivers(room: Room) -> None:
    telling = teller(
        Notification("apprise", room.url.replace("http", "json")), metrics=Metrics(MACHINE.threads), pause=go_on
    )
    telling.tell("completed", EVENT, "all is well")
    telling.close(30)

    assert b"all is well" in room.heard[0][1]


def test_a_url_in_a_log_has_no_secret() -> None:
    assert shown_url("https://user:pass@chat.example.org:1/hooks/x?y#z") == "https://chat.example.org"
    assert shown_url("slack://token/channel") == "slack://…"

"""An agent and a service whose documents change under it: names that leave, and an api-version that falls back."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forewarn.guest.agent.deciding.state import AgentState, Approval, Approving, Seen
from forewarn.guest.agent.inbox import Looked, Named
from forewarn.guest.agent.keeping.journal import AgentJournal, peek
from forewarn.guest.agent.loop import Agent
from forewarn.guest.agent.values import AgentConfig, Barrier, Rule, Step, Verdict
from forewarn.guest.reading import Reading
from forewarn.guest.system import this_machine
from forewarn.terms import Document, ScheduledEvent
from forewarn.wire.document import encode_document
from forewarn.wire.versions import API_VERSIONS, NEWEST, find
from tests.ports import free_port
from tests.unit.guest.azure import RawServer, plain, raw_server

MACHINE = this_machine()

PATIENCE_SECONDS = 60.0
INSTANCE = b'{"compute":{"name":"web-0"}}'
EVENT = ScheduledEvent(
    "A1", "Scheduled", "Reboot", ("web-0", "web-1"), datetime(2099, 1, 1, tzinfo=UTC), "why", "User", -1
)


@dataclass
class Service:
    """Says what it is told to say, and keeps the approvals that it hears."""

    document: Document = field(default_factory=lambda: Document(1, (EVENT,)))
    oldest_refused: str = "9999-99-99"  # versions from this one on are not known
    approvals: list[bytes] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def behave(self, request: bytes) -> bytes:
        with self._changed:
            self._changed.notify_all()
            if b"/metadata/instance" in request:
                return plain(200, INSTANCE)
            found = re.search(rb"api-version=([0-9-]+)", request)
            assert found
            version = found[1].decode()
            if version >= self.oldest_refused:
                return plain(400, b'{"error":"Bad request. api-version is not supported"}')
            if request.startswith(b"POST"):
                self.approvals.append(request)
                return plain(200)
            self.reads.append(version)
            return plain(200, encode_document(self.document, find(version) or NEWEST))

    def until(self, found: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(found, PATIENCE_SECONDS)


@contextmanager
def running(config: AgentConfig) -> Iterator[Agent]:
    agent = Agent(config)
    thread = threading.Thread(target=agent.run)
    thread.start()
    try:
        yield agent
    finally:
        agent.stop("the test is over")
        thread.join()


@contextmanager
def serving(service: Service) -> Iterator[RawServer]:
    with raw_server(service.behave) as server:
        yield server


def config(server: RawServer, tmp_path: Path, **more: object) -> AgentConfig:
    found = AgentConfig(
        endpoint=server.url,
        poll_seconds=0.2,
        state_directory=str(tmp_path / "state"),
        rules=(Rule("users", Verdict.APPROVE_NOW, sources=("User",)), Rule("all", Verdict.PREPARE_ONLY)),
    )
    return replace(found, **more)  # type: ignore[arg-type]  # fields by name


def test_a_member_that_left_resources_is_not_waited_for(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef0123456789abcdef")
    nobody = f"http://127.0.0.1:{free_port()}/{{name}}"
    barrier = Barrier(listen="127.0.0.1:0", address=nobody, secret_file=str(secret))
    service = Service()
    with serving(service) as server, running(config(server, tmp_path, barrier=barrier)):
        service.until(lambda: len(service.reads) >= 5)
        assert service.approvals == [], "web-1 is silent, and there is no patience with it but NotBefore"
        service.document = Document(2, (replace(EVENT, resources=("web-0",)),))
        service.until(lambda: bool(service.approvals))
    assert len(service.approvals) == 1


def _verdict(state: AgentState) -> tuple[Verdict, str | None]:
    return state.cares["A1"].verdict, state.cares["A1"].event.source


def test_a_host_that_falls_back_does_not_make_a_users_reboot_the_platforms(tmp_path: Path) -> None:
    service = Service()
    never = (Rule("users", Verdict.NOTIFY, sources=("User",)), Rule("all", Verdict.APPROVE_NOW))
    oldest = API_VERSIONS[0].date
    with serving(service) as server:
        settings = config(server, tmp_path, rules=never, barrier=Barrier(listen="127.0.0.1:0"))
        with running(settings):
            service.until(lambda: len(service.reads) >= 2)
            service.oldest_refused = API_VERSIONS[1].date  # a host that knows the first version only
            service.until(lambda: service.reads.count(oldest) >= 2)
            assert _verdict(peek(MACHINE.files, tmp_path / "state")) == (Verdict.NOTIFY, "User")
        with running(settings):  # and a new agent, which never read more than the old version
            seen = len(service.reads)
            service.until(lambda: len(service.reads) >= seen + 2)
            assert _verdict(peek(MACHINE.files, tmp_path / "state")) == (Verdict.NOTIFY, "User")
    assert service.approvals == []


STARTED = replace(EVENT, status="Started", not_before=None)


@pytest.mark.parametrize(
    ("not_before", "found", "told"),
    [
        (datetime(2099, 1, 1, tzinfo=UTC), Approval.CONFIRMED, True),
        (datetime(2020, 1, 1, tzinfo=UTC), Approval.INTENDED, False),  # then it starts without anybody's approval
    ],
)
def test_a_start_shows_that_an_unanswered_approval_was_heard_only_before_its_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, not_before: datetime, found: Approval, told: bool
) -> None:
    caplog.set_level("INFO")
    left = AgentJournal(MACHINE.files, tmp_path / "state")
    left.write(Seen(replace(EVENT, not_before=not_before), datetime(2019, 12, 31, tzinfo=UTC), Verdict.APPROVE_NOW, ()))
    left.write(Approving("A1", Approval.INTENDED))
    left.close()
    service = Service(Document(2, (STARTED,)))
    with serving(service) as server, running(config(server, tmp_path)):
        service.until(lambda: len(service.reads) >= 3)
    assert peek(MACHINE.files, tmp_path / "state").cares["A1"].approval is found
    assert "Reboot has started" in caplog.text
    assert ("the approval of Reboot was heard" in caplog.text) is told


def preparing(server: RawServer, tmp_path: Path) -> AgentConfig:
    """With one step, which fails and is not tried again."""
    step = Step("a", "command", {"run": ["false"]}, retries=False)
    return config(server, tmp_path, steps=(step,), rules=(Rule("all", Verdict.PREPARE_ONLY),))


def test_a_vm_that_was_hit_without_notice_is_not_reported_as_prepared(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    service = Service(Document(2, (STARTED,)))
    with serving(service) as server, running(preparing(server, tmp_path)):
        service.until(lambda: len(service.reads) >= 3)
    assert "Reboot is under way" in caplog.text
    assert "prepared for" not in caplog.text


def test_a_failure_is_told_once_by_all_agents_together(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    service = Service()
    with serving(service) as server:
        for _ in range(3):  # as a line of cron would
            Agent(preparing(server, tmp_path), once=True).run()
        assert caplog.text.count("not prepared for Reboot: a") == 1
        service.document = Document(2, (STARTED,))
        for _ in range(2):
            Agent(preparing(server, tmp_path), once=True).run()
    assert caplog.text.count("not prepared for Reboot: a") == 1


def test_a_preparation_that_ended_before_the_start_is_told_before_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Both wait in the inbox when the deciding thread comes to them."""
    caplog.set_level("INFO")
    settings = AgentConfig(
        state_directory=str(tmp_path / "state"),
        steps=(Step("a", "command", {"run": ["true"]}),),
        rules=(Rule("all", Verdict.PREPARE_ONLY),),
    )
    agent, now = Agent(settings, dry_run=True), datetime(2098, 1, 1, tzinfo=UTC)
    agent._turn([Named("web-0"), Looked(Reading(now, Document(1, (EVENT,))), time.monotonic())])
    agent._turn([agent._inbox.get(), Looked(Reading(now, Document(2, (STARTED,))), time.monotonic())])
    agent.close()
    assert 0 < caplog.text.index("prepared for Reboot") < caplog.text.index("Reboot has started")

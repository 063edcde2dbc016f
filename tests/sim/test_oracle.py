"""The simulator's second opinion: what it takes from the product, and what it says of documents and of rules."""

from __future__ import annotations

import ast
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.region import Event
from forewarn.core.specs import Policy, ScopeKind, VmSpec
from forewarn.sim import oracle as package
from forewarn.sim.oracle import API_VERSIONS, Oracle, OracleSettings
from forewarn.wire import versions as wire

NOW = datetime(2022, 4, 11, 22, 11, 58, tzinfo=UTC)
DAY, MINUTE, SECOND = timedelta(days=1), timedelta(minutes=1), timedelta(seconds=1)
ID = "C7061BAC-AFDC-4513-B24B-AA5F13A16123"
MATE = "127C86B4-0000-0000-0000-000000000001"
LIVE_MIGRATION = "Virtual machine is being paused because of a memory-preserving Live Migration operation."


def test_the_oracle_imports_nothing_of_the_product_but_its_facts() -> None:
    allowed = ("forewarn.core.facts", "forewarn.sim.oracle")
    for path in Path(package.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            modules = [f"{node.module}.{name}" for name in names] if isinstance(node, ast.ImportFrom) else names
            for module in modules:
                assert not module.startswith("forewarn") or module.startswith(allowed), f"{path.name}: {module}"


def test_the_simulator_knows_every_api_version_of_the_product_and_no_other() -> None:
    assert [version.date for version in wire.API_VERSIONS] == list(API_VERSIONS)


def vm(name: str, number: int = 0, host: int = 0, at: datetime = NOW, **spec: Any) -> f.VmCreated:
    return f.VmCreated(at, name, VmSpec(**spec), "seed", number, 0, 0, host)


def event(cause: Cause, vms: tuple[str, ...], scope: str, notice: timedelta, **more: Any) -> Event:
    told = {"recovery": 10 * MINUTE, "duration_seconds": -1, **more}
    identity = told.pop("id", ID)
    domain = told.pop("update_domain", 0)
    return Event(identity, cause, scope, vms, vms, domain, NOW, NOW + notice, **told)


def reading(*facts: f.Fact, scope: str = "vm/a", settings: OracleSettings | None = None) -> Oracle:
    """An oracle that has heard these facts, all of them in order, and then of a scope that reads."""
    seen = Oracle(settings)
    kind, _, name = scope.partition("/")
    for fact in (*facts, f.ScopeEnabled(NOW, scope, name, ScopeKind(kind), NOW + DAY)):
        assert seen.fold(fact) == []
    return seen


def test_the_documented_example_is_written_byte_for_byte() -> None:
    """Documents 2 and 3 of the walk through a live migration in Microsoft's page, compact as the service sends it."""
    seen = reading(vm("WestNO_0"), vm("WestNO_1", 1, 1), scope="vm/westno_0")
    migration = event(
        Cause.LIVE_MIGRATION, ("westno_0",), "vm/westno_0", 15 * MINUTE, host=0, recovery=5 * MINUTE, duration_seconds=5
    )
    assert seen.fold(f.EventScheduled(NOW, migration)) == []
    head = f'{{"DocumentIncarnation":2,"Events":[{{"EventId":"{ID}","EventStatus":'
    rest = f'"Description":"{LIVE_MIGRATION}","EventSource":"Platform","DurationInSeconds":5}}]}}'
    middle = '"EventType":"Freeze","ResourceType":"VirtualMachine","Resources":["WestNO_0"]'
    scheduled = f'{head}"Scheduled",{middle},"NotBefore":"Mon, 11 Apr 2022 22:26:58 GMT",{rest}'
    assert seen.document("vm/westno_0", "2020-07-01", 2) == scheduled.encode()
    seen.fold(f.EventStarted(NOW + 15 * MINUTE, ID))
    started = f'{head}"Started",{middle},"NotBefore":"",{rest}'
    assert seen.document("vm/westno_0", "2020-07-01", 2) == started.encode()
    assert seen.document("vm/westno_1", "2020-07-01", 1) == b'{"DocumentIncarnation":1,"Events":[]}'


@pytest.mark.parametrize("version", API_VERSIONS)
def test_each_version_shows_its_types_its_fields_and_its_names(version: str) -> None:
    seen = reading(vm("a", terminate_notice=5 * MINUTE))
    seen.fold(f.EventScheduled(NOW, event(Cause.USER_RESTART, ("a",), "vm/a", 15 * MINUTE, recovery=30 * SECOND)))
    seen.fold(f.EventScheduled(NOW, event(Cause.DELETION, ("a",), "vm/a", 5 * MINUTE, id=MATE, recovery=0 * SECOND)))
    body = seen.document("vm/a", version, 3).decode()
    assert ("Terminate" in body) == (version >= "2019-01-01")
    assert ("Description" in body) == (version >= "2019-04-01")
    assert ("EventSource" in body) == (version >= "2019-08-01")
    assert ("DurationInSeconds" in body) == (version >= "2020-07-01")
    assert ('["_a"]' in body) == (version == "2017-03-01")


def test_role_instances_never_carried_an_underscore() -> None:
    role: dict[str, Any] = {"kind": ScopeKind.CLOUD_SERVICE, "set_name": "shop", "role": "Web"}
    seen = reading(f.ScopeCreated(NOW, ScopeKind.CLOUD_SERVICE, "shop"), vm("x", 3, **role), scope="cloud-service/shop")
    seen.fold(f.EventScheduled(NOW, event(Cause.REBOOT, ("x",), "cloud-service/shop", 15 * MINUTE, host=0)))
    assert b'"Resources":["Web_IN_3"]' in seen.document("cloud-service/shop", "2017-03-01", 2)


def test_a_number_names_one_document_and_never_goes_back() -> None:
    seen = reading(vm("a"))
    assert seen.number("vm/a", 1) == []
    assert seen.number("vm/a", 1) == []
    seen.fold(f.EventScheduled(NOW, event(Cause.FREEZE, ("a",), "vm/a", 15 * MINUTE, host=0, duration_seconds=9)))
    assert seen.number("vm/a", 1)
    assert seen.number("vm/a", 5) == []
    assert seen.number("vm/a", 4)


def test_a_scope_that_is_enabled_late_is_told_of_pending_work_and_asked() -> None:
    """Two scopes on one host, of which one reads; the other begins to while the work is pending."""
    seen = reading(vm("a"), vm("b", 1))
    reboot = {"host": 0, "group": "host/x"}
    seen.fold(f.EventScheduled(NOW, event(Cause.REBOOT, ("a",), "vm/a", 15 * MINUTE, **reboot)))
    unseen = event(Cause.REBOOT, ("b",), "vm/b", 15 * MINUTE, id=MATE, announced=False, recovery=0 * SECOND, **reboot)
    assert seen.fold(f.EventScheduled(NOW, unseen)) == []
    assert seen.fold(f.EventApproved(NOW, MATE, "nobody: the scope does not read its documents")) == []
    assert b'Events":[]' in seen.document("vm/b", "2020-07-01", 1)
    seen.fold(f.ScopeEnabled(NOW + SECOND, "vm/b", "b", ScopeKind.VM, NOW + SECOND + DAY))
    assert MATE.encode() in seen.document("vm/b", "2020-07-01", 1)
    seen.fold(f.EventApproved(NOW + SECOND, ID, "a"))
    assert "nobody had approved" in seen.fold(f.EventStarted(NOW + SECOND, ID))[0]


def test_a_vm_that_is_gone_or_has_left_the_host_is_not_named() -> None:
    members: dict[str, Any] = {"kind": ScopeKind.AVAILABILITY_SET, "set_name": "s"}
    created = f.ScopeCreated(NOW, ScopeKind.AVAILABILITY_SET, "s")
    seen = reading(created, *(vm(name, n, **members) for n, name in enumerate("abc")), scope="availability-set/s")
    seen.fold(f.EventScheduled(NOW, event(Cause.REBOOT, ("a", "b", "c"), "availability-set/s", 15 * MINUTE, host=0)))
    seen.fold(f.VmDeleted(NOW, "b"))
    assert b'["a","c"]' in seen.document("availability-set/s", "2020-07-01", 3)
    seen.fold(f.VmMoved(NOW, "a", 7))
    assert b'["c"]' in seen.document("availability-set/s", "2020-07-01", 4)


def broken(*facts: f.Fact, settings: OracleSettings | None = None) -> str:
    """What is said of the last of them."""
    seen = reading(vm("a", terminate_notice=5 * MINUTE), settings=settings)
    for fact in facts[:-1]:
        seen.fold(fact)
    return " ".join(seen.fold(facts[-1]))


RESTART = event(Cause.USER_RESTART, ("a",), "vm/a", 15 * MINUTE, recovery=30 * SECOND)
SCHEDULED = f.EventScheduled(NOW, RESTART)
STARTED, BEGAN = f.EventStarted(NOW + 15 * MINUTE, ID), f.ImpactBegan(NOW + 15 * MINUTE, ID)
ENDED = f.ImpactEnded(NOW + 16 * MINUTE, ID)


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("notice", (f.EventScheduled(NOW, event(Cause.USER_RESTART, ("a",), "vm/a", 7 * MINUTE)),)),
        ("recovers", (f.EventScheduled(NOW, event(Cause.USER_RESTART, ("a",), "vm/a", 15 * MINUTE)),)),
        ("without a notice", (f.EventBornStarted(NOW, RESTART),)),
        ("second time", (SCHEDULED, f.EventCanceled(NOW, ID, "x"), SCHEDULED)),
        ("before its NotBefore", (SCHEDULED, f.EventStarted(NOW + MINUTE, ID))),
        ("as if nobody", (SCHEDULED, f.EventApproved(NOW, ID, "nobody: x"))),
        ("policy", (SCHEDULED, f.EventApproved(NOW, ID, "policy: all instances are down"))),
        ("approved by b", (vm("b", 1), SCHEDULED, f.EventApproved(NOW, ID, "b"))),
        ("began twice", (SCHEDULED, STARTED, BEGAN, BEGAN)),
        ("recovery lasts", (SCHEDULED, STARTED, BEGAN, ENDED, f.EventCompleted(NOW + 16 * MINUTE, ID))),
        ("after it had started", (SCHEDULED, STARTED, f.EventCanceled(NOW, ID, "x"))),
        ("may read until", (f.ScopeDisabled(NOW + 23 * 60 * MINUTE, "vm/a"),)),
        ("enabled twice", (f.ScopeEnabled(NOW, "vm/a", "a", ScopeKind.VM, NOW + DAY),)),
        ("lapse at", (f.ScopeRead(NOW, "vm/a", NOW, NOW + DAY / 2),)),
        ("not there", (f.EventStarted(NOW, ID),)),
    ],
)
def test_a_fact_that_no_rule_allows_is_told(said: str, facts: tuple[f.Fact, ...]) -> None:
    assert said in broken(*facts)


def test_what_follows_by_itself_may_not_be_left_undone() -> None:
    seen = reading(vm("a"))
    assert seen.settled(NOW + DAY - SECOND) == []
    assert "still enabled" in seen.settled(NOW + DAY)[0]
    seen.fold(SCHEDULED)
    assert seen.settled(NOW + 14 * MINUTE) == []
    assert "not started" in seen.settled(NOW + 15 * MINUTE)[0]
    seen.fold(f.VmDeleted(NOW, "a"))
    assert "nobody left" in seen.settled(NOW + MINUTE)[0]


def test_what_all_have_approved_starts_at_once_and_what_started_is_done() -> None:
    seen = reading(vm("a"))
    seen.fold(SCHEDULED)
    seen.fold(f.EventApproved(NOW + SECOND, ID, "a"))
    assert "all have approved" in seen.settled(NOW + SECOND)[0]
    seen.fold(f.EventStarted(NOW + SECOND, ID))
    assert seen.settled(NOW + MINUTE) == []
    assert "has not begun" in seen.settled(NOW + 40 * MINUTE)[0]


def test_work_that_was_ordered_twice_for_a_host_at_one_instant_does_not_wait_for_the_other() -> None:
    seen = reading(vm("a"))
    for each in (ID, MATE):
        scheduled = event(Cause.REBOOT, ("a",), "vm/a", 15 * MINUTE, id=each, host=0)
        assert seen.fold(f.EventScheduled(NOW, scheduled)) == []
    assert seen.fold(f.EventApproved(NOW, ID, "a")) == []
    assert seen.fold(f.EventStarted(NOW, ID)) == []


def test_a_campaign_waits_for_work_that_was_ordered_for_a_host() -> None:
    members: dict[str, Any] = {"kind": ScopeKind.AVAILABILITY_SET, "set_name": "s"}
    second = f.VmCreated(NOW, "b", VmSpec(**members), "seed", 1, 1, 0, 1)
    created = f.ScopeCreated(NOW, ScopeKind.AVAILABILITY_SET, "s")
    seen = reading(created, vm("a", **members), second, scope="availability-set/s")
    scope = "availability-set/s"
    assert seen.fold(f.EventScheduled(NOW, event(Cause.REBOOT, ("a",), scope, 15 * MINUTE, host=0))) == []
    seen.fold(f.CampaignStarted(NOW, "c", Cause.REBOOT, (0, 1), 0))
    again = event(Cause.REBOOT, ("a",), scope, 15 * MINUTE, id=MATE, host=0, campaign="c")
    other = event(Cause.REBOOT, ("b",), scope, 15 * MINUTE, id=MATE, host=1, campaign="c", update_domain=1)
    assert "comes to VMs" in seen.fold(f.EventScheduled(NOW, again))[0]
    seen.fold(f.EventCanceled(NOW, MATE, "x"))
    assert any("opens update domain" in each for each in seen.fold(f.EventScheduled(NOW, other)))


def test_a_document_can_be_kept_for_later() -> None:
    seen = reading(vm("a"))
    seen.fold(SCHEDULED)
    kept, shown = seen.paper("vm/a"), seen.document("vm/a", "2017-03-01", 2)
    seen.fold(f.EventCanceled(NOW, ID, "x"))
    assert kept.body("2017-03-01", 2) == shown != seen.document("vm/a", "2017-03-01", 2)


def test_impacts_on_one_vm_do_not_overlap() -> None:
    second = event(Cause.USER_REDEPLOY, ("a",), "vm/a", 10 * MINUTE, id=MATE, recovery=30 * SECOND)
    later = f.ImpactBegan(NOW + 15 * MINUTE, MATE)
    facts = (SCHEDULED, f.EventScheduled(NOW, second), STARTED, BEGAN, f.EventStarted(NOW + 15 * MINUTE, MATE), later)
    assert "has it in hand" in broken(*facts)


def test_no_more_user_operations_wait_than_the_limit_allows() -> None:
    seen = reading(vm("a"), vm("b", 1), settings=OracleSettings(user_operation_limit=1))
    seen.fold(f.ScopeEnabled(NOW, "vm/b", "b", ScopeKind.VM, NOW + DAY))
    seen.fold(SCHEDULED)
    assert seen.settled(NOW) == []
    seen.fold(f.EventScheduled(NOW, event(Cause.USER_RESTART, ("b",), "vm/b", 15 * MINUTE, id=MATE)))
    assert "2 user operations" in seen.settled(NOW)[0]


def test_a_policy_approves_what_it_says() -> None:
    seen = reading(vm("a"))
    seen.fold(f.PolicySet(NOW, "vm/a", Policy(auto_approve_reboot=True)))
    assert seen.fold(f.EventBornStarted(NOW, RESTART)) == []
    redeploy = event(Cause.USER_REDEPLOY, ("a",), "vm/a", 10 * MINUTE, id=MATE, recovery=30 * SECOND)
    assert "without a notice" in seen.fold(f.EventBornStarted(NOW, redeploy))[0]

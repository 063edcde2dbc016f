"""Ten that once passed unseen, when the judge asked the product what was right."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from forewarn.core import facts as f
from forewarn.core.commands import Approve
from forewarn.core.deciding import approvals, maintenance, settle
from forewarn.core.deciding import events as work
from forewarn.core.deciding import impacts as reports
from forewarn.core.looking import documents
from forewarn.core.phases import Phase
from forewarn.core.region import replace
from forewarn.plane import impacts
from forewarn.sim.plan import Misfortune
from forewarn.terms import EventType
from forewarn.web.documents import document as answers
from forewarn.web.metadata import service
from forewarn.wire import document as wire
from tests.sim.plants.plant import Plant


def co_tenants_are_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    honest = settle.may_start
    patch.setattr(settle, "may_start", lambda region, event, now: honest(region, replace(event, group=""), now))


def terminate_shown_to_2017(patch: pytest.MonkeyPatch) -> None:
    honest = wire.encode_document

    def encode(document: Any, version: Any, **more: Any) -> bytes:
        wider = version.date.startswith("2017")
        return honest(document, replace_version(version) if wider else version, **more)

    def replace_version(version: Any) -> Any:
        return type(version)(
            version.date,
            version.types | {EventType.TERMINATE},
            version.fields,
            version.underscore,
            version.post_needs_header,
        )

    patch.setattr(answers, "encode_document", encode)


def other_scopes_may_approve(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(service, "Approve", lambda ids, by, scope, **more: Approve(ids, by, None, **more))


def disabled_after_23_hours(patch: pytest.MonkeyPatch) -> None:
    honest = approvals.pulse

    def pulse(draft: Any, command: Any) -> None:
        rules = draft.rules
        draft.rules = _with(rules, disable_after=timedelta(hours=23))
        honest(draft, command)
        draft.rules = rules

    patch.setattr(approvals, "pulse", pulse)


def _with(rules: Any, **changes: Any) -> Any:
    fields = {name: getattr(rules, name) for name in rules.__struct_fields__}
    return type(rules)(**{**fields, **changes})


def recovery_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    honest = work._event
    patch.setattr(work, "_event", lambda *args: replace(honest(*args), recovery=timedelta(0)))


def notice_is_halved(patch: pytest.MonkeyPatch) -> None:
    honest = work._event

    def event(draft: Any, *args: Any) -> Any:
        made = honest(draft, *args)
        return replace(made, not_before=work.whole_seconds_up(draft.now + (made.not_before - draft.now) / 2))

    patch.setattr(work, "_event", event)


def an_impact_is_begun_twice(patch: pytest.MonkeyPatch) -> None:
    def begin_impact(draft: Any, command: Any) -> None:
        event = draft.region.events.get(command.event_id)
        if event is not None and event.phase is Phase.STARTED:
            draft.record(f.ImpactBegan(draft.now, event.id, command.ends_at))

    patch.setattr(reports, "begin_impact", begin_impact)
    patch.setattr(impacts, "_is_to_begin", lambda event: event.phase is Phase.STARTED and not event.impact_ended_at)


def resources_lose_a_name(patch: pytest.MonkeyPatch) -> None:
    honest = documents.shown
    patch.setattr(documents, "shown", lambda event: honest(replace(event, resources=event.resources[:1])))


def started_with_its_old_time(patch: pytest.MonkeyPatch) -> None:
    def fields(event: Any, version: Any, prefix: str, write_instant: Any) -> Any:
        told = honest(event, version, prefix, write_instant)
        return {**told, "NotBefore": told["NotBefore"] or "Mon, 02 Mar 2026 00:00:00 GMT"}

    honest = wire._event_fields
    patch.setattr(wire, "_event_fields", fields)


def one_user_operation_too_many(patch: pytest.MonkeyPatch) -> None:
    honest = maintenance.user_operation

    def user_operation(draft: Any, *args: Any) -> None:
        rules = draft.rules
        draft.rules = _with(rules, user_operation_limit=rules.user_operation_limit + 1)
        try:
            honest(draft, *args)
        finally:
            draft.rules = rules

    patch.setattr(maintenance, "user_operation", user_operation)


OUTSIDE = (
    Plant("co-tenants of a host are not waited for", "core.deciding.settle.may_start", co_tenants_are_not_waited_for),
    Plant("Terminate is shown to versions of 2017", "wire.document", terminate_shown_to_2017),
    Plant("VMs of other scopes may approve", "core.deciding.approvals.approve", other_scopes_may_approve),
    Plant("a scope is disabled after 23 hours", "core.deciding.approvals.pulse", disabled_after_23_hours),
    Plant("an event leaves as soon as its impact is over", "core.deciding.events._event", recovery_is_forgotten),
    Plant("half of the notice is given", "core.deciding.events._event", notice_is_halved),
    Plant(
        "an impact is begun twice",
        "core.deciding.impacts.begin_impact",
        an_impact_is_begun_twice,
        faults=(Misfortune.CRASH, Misfortune.STORE),
    ),
    Plant("Resources name the first VM only", "core.looking.documents.shown", resources_lose_a_name),
    Plant("a started event has a NotBefore", "wire.document", started_with_its_old_time),
    Plant(
        "an eleventh user operation is scheduled",
        "core.deciding.maintenance.user_operation",
        one_user_operation_too_many,
        vms=24,
    ),
)

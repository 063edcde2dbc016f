"""Commands about events that are there: approval, cancellation and the reads behind them."""

from __future__ import annotations

from datetime import datetime

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.deciding.events import BY_POLICY, announce_pending, cancel
from forewarn.core.draft import Draft
from forewarn.core.looking.lookup import find_event
from forewarn.core.phases import PENDING, Phase
from forewarn.core.refusal import Hint, Refused, no_event


def approve(draft: Draft, command: c.Approve) -> None:
    region = draft.region
    for event_id in dict.fromkeys(text.upper() for text in command.event_ids):
        event = region.events.get(event_id)
        if event is None or not event.announced or command.scope not in (None, event.scope):
            if command.ignore_unknown:
                continue
            raise no_event(f"There is no event {event_id} here, or it has ended.", event_id)
        if event.phase is Phase.SCHEDULED:
            draft.record(f.EventApproved(draft.now, event_id, command.by))


def cancel_events(draft: Draft, command: c.CancelEvents) -> None:
    for event in [find_event(draft.region, event_id) for event_id in command.event_ids]:
        if event.id not in draft.region.events:
            continue  # it went with another of its group
        if event.phase not in PENDING:
            raise Refused(Hint.CONFLICT, f"Event {event.id} has started and cannot be taken back.")
        cancel(draft, event, command.why)


def pulse(draft: Draft, command: c.Pulse) -> None:
    """Scopes that were read at the same instant, which is what the book of reads makes of most, share a fact."""
    read: dict[datetime, dict[str, None]] = {}
    for key, read_at in command.reads:
        vm = draft.region.vms.get(key)
        if vm is None:
            continue
        scope = draft.region.scope_of(vm)
        if scope.enabled_at is None:
            lapses_at = read_at + draft.rules.disable_after
            automatic = announce_pending(draft, scope)
            draft.record(f.ScopeEnabled(draft.now, scope.key, scope.name, scope.kind, lapses_at))
            for event_id in automatic:
                draft.record(f.EventApproved(draft.now, event_id, BY_POLICY))
        elif scope.last_read_at is None or read_at > scope.last_read_at:
            read.setdefault(read_at, {})[scope.key] = None
    for read_at in sorted(read):
        lapses_at, keys = read_at + draft.rules.disable_after, tuple(read[read_at])
        if len(keys) == 1:
            draft.record(f.ScopeRead(draft.now, keys[0], read_at, lapses_at))
        else:
            draft.record(f.ScopesRead(draft.now, keys, read_at, lapses_at))

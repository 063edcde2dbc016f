"""Every write that was answered is in the journal once, every refused one is not, and none is there by half."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.deciding.events import BY_POLICY, NEVER_TOLD, NOBODY_READS
from forewarn.core.deciding.settle import ALL_DOWN
from forewarn.core.region import fold
from forewarn.plane.ports import Record
from tests.loss.history import Approval, Gone, History, Outcome, Write
from tests.loss.replay import Replay

# The store's clock and ours are the same machine's, but one is steered and the other is not.
TOLERANCE = timedelta(seconds=1)
LATEST = datetime.max.replace(tzinfo=UTC)
OLDER = timedelta(seconds=0.1)  # than its command no fact may be: its notice would be shorter than promised

CAUSES = {
    "restart": Cause.USER_RESTART,
    "redeploy": Cause.USER_REDEPLOY,
    "evict": Cause.EVICTION,
    "delete": Cause.DELETION,
}


def of_writes(history: History, replay: Replay) -> Iterator[str]:
    """What operators asked for."""
    found: dict[str, list[Record]] = defaultdict(list)
    for record in history.journal:
        if record.origin.door == "operator":
            found[record.origin.who].append(record)
    writes = {note.key: note for note in history.notes if isinstance(note, Write)}
    for key in found.keys() - writes.keys():
        yield f"records {_numbers(found[key])} are by {key!r}, who asked for nothing"
    for key, write in writes.items():
        records = found.get(key, [])
        for what in _of_one(history, replay, write, records):
            yield f"{write.deed} {key} ({write.outcome}, {write.status}): {what}"


def _of_one(history: History, replay: Replay, write: Write, records: list[Record]) -> Iterator[str]:
    if write.outcome is Outcome.REFUSED:
        if records:
            yield f"returned: it was refused, and records {_numbers(records)} are its own"
        return
    yield from _of_place(history, write, records)
    if write.outcome is Outcome.OK:
        yield from _of_answer(replay, write, records)
    if records or write.outcome is Outcome.OK:
        yield from _of_wholeness(history, replay, write, records)


def _of_place(history: History, write: Write | Approval, records: Sequence[Record]) -> Iterator[str]:
    """One command makes its records in one piece, at one instant, between question and answer."""
    if not records:
        return
    if [record.seq for record in records] != list(range(records[0].seq, records[0].seq + len(records))):
        yield f"it happened more than once: records {_numbers(records)}"
    if len({(record.fact.at, record.command, record.origin) for record in records}) > 1:
        yield f"records {_numbers(records)} are not of one command"
    if write.outcome is Outcome.OK and records[0].origin.request_id != write.request_id:
        yield f"it was answered as {write.request_id} and written as {records[0].origin.request_id}"
    yield from of_time(history, write, records[0])


def of_time(history: History, note: Write | Approval, record: Record) -> Iterator[str]:
    """The region's time is the store's, whatever the node's own clock says."""
    at, asked, answered = record.fact.at, history.wall(note.asked), history.wall(note.answered)
    if at < asked - OLDER or (note.outcome is Outcome.OK and at > answered + TOLERANCE):
        yield f"record {record.seq} says {at}, and it was asked at {asked} and answered at {answered}"


def _of_answer(replay: Replay, write: Write, records: Sequence[Record]) -> Iterator[str]:
    """What the answer tells of is what was written, or an event that does the same and was there already."""
    made = _made(write.deed, records)
    cause = CAUSES.get(write.deed)
    if lost := sorted(key for key in set(write.told) - made if cause is None or replay.causes.get(key) is not cause):
        yield f"lost: the answer tells of {', '.join(lost)}, and the journal does not"
    if write.deed in ("create", "campaign") and (untold := sorted(made - set(write.told))):
        yield f"the journal has {', '.join(untold)}, and the answer does not"


def _made(deed: str, records: Iterable[Record]) -> set[str]:
    found: set[str] = set()
    for record in records:
        match record.fact:
            case f.VmCreated(name=name) if deed == "create":
                found.add(name)
            case f.CampaignStarted(campaign_id=campaign_id) if deed == "campaign":
                found.add(campaign_id)
            case f.EventScheduled(event=event) | f.EventBornStarted(event=event) if deed not in ("create", "campaign"):
                found.add(event.id)
            case f.EventCanceled(event_id=event_id) if deed == "cancel":
                found.add(event_id)
    return found


def _of_wholeness(history: History, replay: Replay, write: Write, records: Sequence[Record]) -> Iterator[str]:
    """All of what was asked for: for each name something was made, or was already under way."""
    if write.deed == "create":
        if missing := sorted(set(write.names) - _made("create", records)):
            yield f"half of it is missing: {', '.join(missing)}"
    elif write.deed in CAUSES:
        hit = _hit(records, CAUSES[write.deed])
        for name in write.names:
            if fold(name) not in hit and not _was_under_way(history, replay, write, fold(name)):
                yield f"nothing was done about {name}"
    elif write.deed == "approve":
        for event_id in write.names:
            if not _has_effect(history, replay, event_id, write):
                yield f"the approval of {event_id} has no effect"
    elif write.deed == "campaign" and not _made("campaign", records):
        yield "lost: there is no campaign"


def _hit(records: Iterable[Record], cause: Cause) -> set[str]:
    """VMs that an event of that cause will hit, or that are gone already where that was the wish."""
    found: set[str] = set()
    for record in records:
        match record.fact:
            case f.EventScheduled(event=event) | f.EventBornStarted(event=event) if event.cause is cause:
                found.update(event.vms)
            case f.VmDeleted(vm=vm) if cause is Cause.DELETION:
                found.add(vm)
    return found


def _was_under_way(history: History, replay: Replay, write: Write, vm: str) -> bool:
    """Whether the VM had an event of that cause at some time between question and answer."""
    asked, answered = history.wall(write.asked) - TOLERANCE, _latest(history, write)
    for seq, region in enumerate(replay.regions):
        began = history.journal[seq - 1].fact.at if seq else None
        ended = history.journal[seq].fact.at if seq < len(history.journal) else None
        if (began is not None and began > answered) or (ended is not None and ended < asked) or vm not in region.vms:
            continue
        if any(region.events[event_id].cause is CAUSES[write.deed] for event_id in region.vms[vm].events):
            return True
    return False


# Approvals by VMs


def of_approvals(history: History, replay: Replay) -> Iterator[str]:
    """What VMs let start."""
    approvals = [note for note in history.notes if isinstance(note, Approval)]
    by_request: dict[str, list[Record]] = defaultdict(list)
    for record in history.journal:
        fact = record.fact
        if isinstance(fact, f.EventApproved) and fact.by not in (NOBODY_READS, ALL_DOWN, BY_POLICY, NEVER_TOLD):
            if record.origin.door == "vm":
                by_request[record.origin.request_id].append(record)
            if fact.by not in (record.origin.who, f"operator ({record.origin.who})"):
                yield f"record {record.seq} is an approval by {fact.by}, and {record.origin.who} asked"
    yield from _of_unasked(approvals, by_request)
    for note in approvals:
        records = by_request.get(note.request_id, []) if note.request_id else []
        told = f"approval by {note.vm} through {note.node} ({note.outcome}, {note.status})"
        if note.outcome is Outcome.REFUSED and records:
            yield f"{told}: returned: it was refused, and records {_numbers(records)} are its own"
        if note.outcome is Outcome.OK:
            if records:
                yield from (f"{told}: {what}" for what in of_time(history, note, records[0]))
            for event_id in note.event_ids:
                if not _has_effect(history, replay, event_id, note):
                    yield f"{told}: the approval of {event_id} has no effect"


def _of_unasked(approvals: Iterable[Approval], by_request: dict[str, list[Record]]) -> Iterator[str]:
    asked: dict[tuple[str, str], list[Approval]] = defaultdict(list)
    for note in approvals:
        for event_id in note.event_ids:
            asked[note.vm, event_id].append(note)
    for request_id, records in by_request.items():
        for record in records:
            assert isinstance(record.fact, f.EventApproved)
            notes = asked[record.origin.who, record.fact.event_id]
            if not any(note.outcome is Outcome.UNKNOWN or note.request_id == request_id for note in notes):
                yield f"record {record.seq} approves {record.fact.event_id} for {record.origin.who}, who did not ask"


def of_gone(history: History) -> Iterator[str]:
    """No success for what is in no file that a restart would find."""
    gone = [note for note in history.notes if isinstance(note, Gone)]
    made = {record.origin.request_id for record in history.journal}
    for note in history.notes:
        if isinstance(note, Write | Approval) and note.outcome is Outcome.OK:
            for each in gone:
                if each.began < note.asked and note.answered < each.ended and note.request_id in made:
                    yield f"{note.request_id} was acknowledged with {note.status} while the {each.what}"


def _has_effect(history: History, replay: Replay, event_id: str, note: Write | Approval) -> bool:
    """Whether the event was approved or started by the time of the answer."""
    at = replay.let_start.get(event_id)
    return at is not None and at <= _latest(history, note)


def _latest(history: History, note: Write | Approval) -> datetime:
    """Until when it may have been carried out: one that was never answered, also after its client had hung up."""
    return LATEST if note.outcome is Outcome.UNKNOWN else history.wall(note.answered) + TOLERANCE


def _numbers(records: Sequence[Record]) -> str:
    return ", ".join(str(record.seq) for record in records[:8]) + (" …" if len(records) > 8 else "")

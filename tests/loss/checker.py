"""The judge: a pure function from a round's history to a sentence for each thing that went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from forewarn.core import facts as f
from forewarn.core.invariants.region import violations
from tests.loss.check_events import of_events
from tests.loss.check_views import of_disabling, of_views
from tests.loss.check_writes import of_approvals, of_gone, of_writes
from tests.loss.history import Approval, Begun, History, Look, Outcome, Sight, Trouble, Write, Wrong
from tests.loss.replay import Replay


def losses(history: History) -> list[str]:
    """What was lost, doubled, early, forgotten or otherwise wrong; nothing, where all is well."""
    replay = Replay.of(history.journal)
    found = [*_of_chain(history), *replay.wrong, *_of_regions(replay)]
    found += of_writes(history, replay)
    found += of_approvals(history, replay)
    found += of_events(history, replay)
    found += of_views(history, replay)
    found += of_disabling(history, replay)
    found += _of_faults_of_ours(history)
    found += of_gone(history)
    found += [note.what for note in history.notes if isinstance(note, Wrong)]
    return found


def _of_chain(history: History) -> Iterator[str]:
    yield from (f"the journal says: {flaw}" for flaw in history.flaws)
    if [record.seq for record in history.journal] != list(range(1, len(history.journal) + 1)):
        yield "the journal's numbers have gaps"
    for one, two in pairwise(history.journal):
        if two.fact.at < one.fact.at:
            yield f"time goes back with record {two.seq}"


def _of_regions(replay: Replay) -> Iterator[str]:
    """After each transaction the region is whole, and everything that was due by then is done."""
    for seq, region in replay.transactions():
        for what in violations(region, now=region.latest_at):
            yield f"after record {seq}: {what}"


def _of_faults_of_ours(history: History) -> Iterator[str]:
    """Whatever happens to a store or a wire, nothing inside of a node may stumble over it.

    To a VM, 500 is also the word for an outcome that nobody knows; there, the node's log tells the two apart.
    """
    for note in history.notes:
        if isinstance(note, Write) and note.status == 500:
            yield f"{note.node} answered 500 at {history.wall(note.answered):%H:%M:%S.%f}: {note}"


def figures(history: History) -> Counter[str]:
    """How much there was to judge."""
    found: Counter[str] = Counter(facts=len(history.journal))
    for note in history.notes:
        match note:
            case Write() | Approval():
                found[f"writes {note.outcome}"] += 1
                if note.outcome is Outcome.OK:
                    found[f"acknowledged {note.deed if isinstance(note, Write) else 'approval'}"] += 1
            case Sight(status=503):
                found["turned away"] += 1
            case Sight():
                found["documents"] += 1
                found[f"documents at {note.node}"] += 1
            case Look():
                found["looks"] += 1
            case Begun():
                found["impacts"] += 1
            case Trouble():
                found[f"fault {note.kind}"] += 1
    return found


def latest_start(history: History) -> float:
    """By how many seconds an event that nobody approved started after its NotBefore, at worst. Late is not lost."""
    due: dict[str, datetime] = {}
    late = 0.0
    for record in history.journal:
        match record.fact:
            case f.EventScheduled(event=event):
                due[event.id] = event.not_before
            case f.EventStarted(at=at, event_id=event_id) if event_id in due:
                late = max(late, (at - due[event_id]).total_seconds())
    return late

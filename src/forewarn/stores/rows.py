"""Records as rows of a table, for every store that is a database: numbered without gaps, each chained to the last.

A row's ``chain`` is a hash over the chain of the row before and its own content. A row that was lost, swapped, inserted
or edited does not fit any more, wherever in the journal it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from hashlib import blake2b
from typing import Any, TypeAlias

import msgspec
from msgspec import structs

from forewarn.core.facts import FORMAT, VmCreated
from forewarn.core.looking.subjects import subject_of
from forewarn.plane.ports import Entry, JournalFault, Origin, Record
from forewarn.stores import codec

COLUMNS = ("seq", "format", "at", "command", "door", "who", "request_id", "subject", "body", "chain")
Row: TypeAlias = tuple[int, int, str, str, str, str, str, str, bytes, bytes]

START = bytes(16)  # the chain before the first record
_VERIFIED_AT_ONCE = 5000  # ours: rows of one look; a long one would hold up the store's tidying
_content = msgspec.msgpack.Encoder().encode  # unambiguous: every column carries its kind and its length


def link(previous: bytes, content: tuple[Any, ...]) -> bytes:
    """The chain of the row that holds ``content`` and follows the one with the chain ``previous``."""
    return blake2b(previous + _content(content), digest_size=16).digest()


def rows_of(entries: Iterable[Entry], seq: int, chain: bytes) -> Iterator[Row]:
    """The rows that follow the record ``seq``."""
    at: datetime | None = None
    text = ""
    for entry in entries:
        fact, origin = entry.fact, entry.origin
        if fact.at is not at:  # facts of one command share their instant
            at = fact.at
            text = at.isoformat(timespec="microseconds")
        seq += 1
        who = (origin.door, origin.who, origin.request_id)
        content = (seq, FORMAT, text, entry.command, *who, subject_of(fact), codec.encode(fact))
        chain = link(chain, content)
        yield (*content, chain)


def flaw_of(row: Row, seq: int, chain: bytes) -> str | None:
    """What is wrong with ``row`` as the successor of the record ``seq``; None if it fits."""
    found = row[0]
    if found == seq + 2:
        return f"Record {seq + 1} of the journal is missing"
    if found != seq + 1:
        return f"Records {seq + 1} to {found - 1} of the journal are missing"
    if row[9] != link(chain, row[:9]):
        return f"Record {found} of the journal is not what was written there, or does not follow record {seq}"
    return None


def checked(rows: Iterable[Row], seq: int, chain: bytes) -> Iterator[Row]:
    """The rows as they come, as long as each follows from the one before, beginning after the record ``seq``."""
    for row in rows:
        flaw = flaw_of(row, seq, chain)
        if flaw is not None:
            raise JournalFault(f"{flaw}. Restore the journal from a backup; it was not touched.")
        seq, chain = row[0], row[9]
        yield row


def flaws_in(rows_after: Callable[[int, int], list[Row]], head: int) -> Iterator[str]:
    """A sentence for each thing that is wrong with the rows up to ``head``, asked for as (after, limit)."""
    seq, chain = 0, START
    while seq < head:
        rows = rows_after(seq, _VERIFIED_AT_ONCE)
        if not rows:
            yield f"The journal ends at record {seq}, and not at record {head}."
            return
        for row in rows:
            flaw = flaw_of(row, seq, chain) or _decoding_flaw(row)
            if flaw is not None:
                yield f"{flaw.rstrip('.')}."
            seq, chain = row[0], row[9] if isinstance(row[9], bytes) else START


def _decoding_flaw(row: Row) -> str | None:
    try:
        codec.decode(row[0], row[1], row[8])
    except JournalFault as flaw:
        return str(flaw)
    return None


def records_of(rows: Iterable[Row]) -> list[Record]:
    """The records in ``rows``. What consecutive ones have in common they share, as they did when they were written."""
    records: list[Record] = []
    origin, made = Origin(""), None
    for seq, written, _, command, door, who, request_id, _, body, _ in rows:
        fact = codec.decode(seq, written, body)
        if isinstance(fact, VmCreated):
            fact = made = _sharing(fact, made)
        if (origin.door, origin.who, origin.request_id) != (door, who, request_id):
            origin = Origin(door, who, request_id)
        records.append(Record(seq, fact, command, origin))
    return records


def _sharing(fact: VmCreated, before: VmCreated | None) -> VmCreated:
    """Let equal values of consecutive facts be one object: VMs made together share one specification."""
    if before is None or fact.spec != before.spec:
        return fact
    seed = before.seed if fact.seed == before.seed else fact.seed
    at = before.at if fact.at == before.at else fact.at
    return structs.replace(fact, spec=before.spec, seed=seed, at=at)

"""Power cuts: a round that was recorded is ended at many moments, and the region that each leaves is judged.

At each cut one of the trees that the disk may hold is made (``disk_model``) and opened by the real store; on some of
them the real server is started as well, takes a write and ends. Whoever had an answer by then must find it true.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from forewarn.core.folding.evolve import evolve
from forewarn.core.invariants.region import violations
from forewarn.core.region import Region
from forewarn.plane.ports import JournalFault, Record
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.loss.check_views import of_knowledge
from tests.loss.disk_model import DiskModel
from tests.loss.history import Approval, History, Note, Outcome, Write
from tests.loss.machines import Disk, Node
from tests.loss.replay import Replay
from tests.loss.watched_disk import Call, Deed, WatchedDisk
from tests.loss.world import OPTIONS, read_all
from tests.waiting import until

_LIVED_EVERY = 10  # one image in so many is lived through from its first fact on
_DISK_MEGABYTES = 160


@dataclass(frozen=True)
class Recording:
    """What happened: to the disk, to everybody who asked, and what the journal held at the end of it all."""

    root: str
    data: str  # of the server, below root
    deeds: Sequence[Deed]
    notes: Sequence[Note]
    journal: Sequence[Record]
    shown: Sequence[tuple[float, int]]  # by when somebody had been shown what a record did, and which; both ascending

    def shown_before(self, moment: float) -> int:
        """The last record that anybody can have known of."""
        place = bisect_left(self.shown, (moment, 0))
        return self.shown[place - 1][1] if place else 0


def recording_of(root: Path, watched: WatchedDisk, history: History) -> Recording:
    """All of a round whose node has its data in ``root/data``."""
    deeds = tuple(watched.deeds())
    shown: list[tuple[float, int]] = []
    for at, seq in sorted(of_knowledge(history, Replay.of(history.journal))):
        shown.append((at, max(seq, shown[-1][1] if shown else 0)))
    return Recording(str(root.resolve()), str(root.resolve() / "data"), deeds, history.notes, history.journal, shown)


@dataclass(frozen=True)
class Cut:
    """After the deed at ``place``, before the next, which came at ``moment``."""

    place: int
    moment: float


def cut_losses(recording: Recording, directory: Path, seed: int, cuts: int, started: int) -> list[str]:
    """A sentence for everything that was wrong after one of the cuts; on ``started`` of them the server is started."""
    directory.mkdir(parents=True, exist_ok=True)
    disk = Disk(directory / "disk", _DISK_MEGABYTES)
    try:
        return [*_of_cuts(recording, disk.place, directory, random.Random(seed), cuts, started)]
    finally:
        disk.close()


def _of_cuts(
    recording: Recording, place: Path, kept: Path, chance: random.Random, cuts: int, started: int
) -> Iterator[str]:
    for number, (cut, model) in enumerate(_cuts(recording, chance, cuts)):
        image = place / f"cut-{number}"
        image.mkdir()
        model.image(image, chance)
        data = image / Path(recording.data).relative_to(recording.root)
        found = [*_of_image(recording, cut, data, thoroughly=number % _LIVED_EVERY == 0)]
        if not found and started and number % max(1, cuts // started) == 0:
            found = [*_of_start(recording, cut, data, image)]
        if found:  # the tree as it was before anybody opened it cannot be kept: opening it is what is tried
            shutil.copytree(image, kept / image.name)
        yield from (f"power cut {number} (after deed {cut.place}): {what}" for what in found)
        shutil.rmtree(image)


def _cuts(recording: Recording, chance: random.Random, cuts: int) -> Iterator[tuple[Cut, DiskModel]]:
    """Moments by chance, in their order; one model goes through all of them."""
    places = sorted(chance.randrange(len(recording.deeds) - 1) for _ in range(cuts))
    model, done = DiskModel(recording.root), 0
    for place in places:
        for deed in recording.deeds[done : place + 1]:
            model.do(deed)
        done = place + 1
        yield Cut(place, recording.deeds[place + 1].at), model


def _of_image(recording: Recording, cut: Cut, data: Path, *, thoroughly: bool) -> Iterator[str]:
    """Opened by the store's own code, as a start opens it."""
    try:
        journal = SqliteJournal(data)
    except JournalFault as refusal:
        yield f"it does not start: {refusal}"
        return
    try:
        records = read_all(journal)
        if thoroughly:
            yield from (f"the journal says: {flaw}" for flaw in journal.verify())
            yield from _of_region(journal, records)
    except JournalFault as refusal:
        yield f"it cannot be read: {refusal}"
        return
    finally:
        journal.close()
    yield from of_records(recording, cut.moment, records)


def _of_region(journal: SqliteJournal, records: Sequence[Record]) -> Iterator[str]:
    """From a snapshot the same region comes as from the facts alone."""
    whole = Region()
    for record in records:
        whole = evolve(whole, record.fact)
    found, seq = journal.load()
    for record in records[seq:]:
        found = evolve(found, record.fact)
    if (found.vms, found.scopes, found.events) != (whole.vms, whole.scopes, whole.events):
        yield f"the snapshot of record {seq} does not go on as the facts do"
    yield from violations(whole, now=whole.latest_at)


def of_records(recording: Recording, moment: float, records: Sequence[Record]) -> Iterator[str]:
    """All that was answered before is there as it was, nothing that was refused is, nothing comes from the future."""
    truth, found = _by_request(recording.journal), _by_request(records)
    if (shown := recording.shown_before(moment)) > len(records):
        yield f"record {shown} had been shown, and the journal ends at {len(records)}"
    for note in recording.notes:
        if not isinstance(note, Write | Approval) or not note.request_id:
            continue
        told = f"{note.deed if isinstance(note, Write) else 'approval'} {note.request_id}"
        if note.asked > moment and note.request_id in found:
            yield f"{told} is there before it was asked for"
        if note.answered >= moment:
            continue
        if note.outcome is Outcome.OK and found.get(note.request_id) != truth.get(note.request_id):
            yield f"{told} was answered with {note.status}, and is lost"
        if note.outcome is Outcome.REFUSED and note.request_id in found:
            yield f"{told} was refused with {note.status}, and returned"


def _by_request(records: Iterable[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.origin.request_id:
            found[record.origin.request_id].append(record)
    return dict(found)


def _of_start(recording: Recording, cut: Cut, data: Path, image: Path) -> Iterator[str]:
    """The real server, which must start, take a write, and end in good order."""
    node = Node(name="after", directory=image, data=data, options=OPTIONS, turnable=False)
    node.start()
    try:
        until(node.is_ready, "the server starts after a power cut", lambda: node.log.read_text()[-1500:])
        if node.write_one() != 201:
            yield "the server starts and takes no write"
        if (status := node.stop()) != 0:
            yield f"the server was told to end and did so with status {status}"
    except (AssertionError, subprocess.SubprocessError) as problem:
        yield f"the server does not start: {problem}"
        return
    finally:
        node.kill()
    yield from of_records(recording, cut.moment, _read(data))


def _read(data: Path) -> list[Record]:
    journal = SqliteJournal(data)
    try:
        return read_all(journal)
    finally:
        journal.close()


def without_syncs(deeds: Iterable[Deed]) -> list[Deed]:
    """The same, as if the program had never asked for anything to be synced."""
    return [deed for deed in deeds if deed.call is not Call.SYNC]


def without_syncs_of_directories(deeds: Sequence[Deed], *directories: str) -> list[Deed]:
    """The same, as if it had never synced these directories."""
    open_as: dict[tuple[int, int], str] = {}
    found = []
    for deed in deeds:
        if deed.call is Call.OPEN:
            open_as[deed.process, deed.file] = deed.path
        if deed.call is not Call.SYNC or open_as.get((deed.process, deed.file)) not in directories:
            found.append(deed)
    return found

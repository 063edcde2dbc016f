"""What each reader promises for any bytes at all: its own kind of "no", or something that means what was written.

A target takes bytes and returns, or fails. Each is run over the kept corpus, over mutations of it, and by a fuzzer that
looks for new paths (``make fuzz``). What went wrong once stays in the corpus.
"""

from __future__ import annotations

import io
import json
import tempfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from forewarn.core.facts import FORMAT
from forewarn.core.machines.values import Errand, ErrandKind
from forewarn.engines.remote import messages
from forewarn.engines.remote.program_wire import AnswerLine
from forewarn.guest.agent.barrier.members import members
from forewarn.guest.agent.barrier.words import Question, Seal
from forewarn.guest.agent.config.reading import check_text
from forewarn.guest.agent.deciding.state import Seen, fold_all
from forewarn.guest.agent.keeping import lines as record_lines
from forewarn.guest.agent.steps.kind import event_json
from forewarn.guest.agent.tools.explain import explain
from forewarn.guest.agent.values import AgentConfig, Verdict
from forewarn.guest.http1 import LONGEST_BODY, BadResponse, ResponseReader
from forewarn.guest.instance import concerns, decode_instance
from forewarn.guest.system import this_machine
from forewarn.guest.system.dhcp import build_discover, endpoint_in
from forewarn.guest.watch import Watcher
from forewarn.plane.hands.engine import EngineFault
from forewarn.plane.ports import JournalFault
from forewarn.settings.errors import CommandFailed
from forewarn.settings.region_file import read_region_file
from forewarn.stores import codec
from forewarn.stores.snapshots import region as snapshots
from forewarn.stores.snapshots.frames import BrokenStream, framed, unframed
from forewarn.stores.sqlite import head_note, write_ahead
from forewarn.web.metadata.asking.callers import is_of_a_page
from forewarn.web.metadata.asking.questions import question_of, read_target
from forewarn.web.metadata.asking.request import Request
from forewarn.web.metadata.http.requests import Arrival, RequestReader, Spoiled
from forewarn.web.metadata.settings import Limits
from forewarn.web.resource_manager.login.access import Access
from forewarn.web.resource_manager.templates.expressions import TemplateError
from forewarn.web.resource_manager.templates.jsonc import to_json
from forewarn.web.resource_manager.templates.planning import make_plan
from forewarn.web.resource_manager.templates.plans import NeedsReference, Surroundings
from forewarn.wire.document import decode_document
from forewarn.wire.json_bytes import WireError
from forewarn.wire.start_requests import decode_start_requests, encode_start_requests
from forewarn.wire.times import parse_duration, parse_instant
from tests.fuzz.snapshot import whole_snapshot

MACHINE = this_machine()

Target = Callable[[bytes], None]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_LIMITS = Limits()
_AROUND = Surroundings("s", "t", {"name": "g", "location": "l"}, "d")
_SEAL = Seal(b"0123456789abcdef", MACHINE.chance)
_ACCESS = Access("sesame")


def _cut(data: bytes, step: int) -> list[bytes]:
    return [data[place : place + step] for place in range(0, len(data), step)]


# The metadata face


def metadata_requests(data: bytes) -> None:
    """However it is cut it means the same; at most one refusal, which is the last; every request has an answer."""
    whole = _arrivals([data[1:]])
    assert whole == _arrivals(_cut(data[1:], data[0] % 32 + 1 if data else 1))
    assert [isinstance(each, Spoiled) for each in whole[:-1]].count(True) == 0
    for arrival in whole:
        if isinstance(arrival, Request):
            assert len(arrival.body) <= _LIMITS.body_bytes
            assert len(arrival.fields) <= _LIMITS.header_fields
            question_of(arrival, lambda named: None, 120)
            is_of_a_page(arrival)


def _arrivals(pieces: list[bytes]) -> list[Arrival]:
    reader = RequestReader(_LIMITS)
    found = [arrival for piece in pieces if piece for arrival in reader.feed(piece)]
    reader.close()
    return found


def metadata_targets(data: bytes) -> None:
    """A path never leads to a service that it does not name."""
    target = read_target(data)
    assert target.service is None or target.service.encode() in data.lower() or b"%" in data


def approvals(data: bytes) -> None:
    """Ids that can be written again and mean the same."""
    with suppress(WireError):
        ids = decode_start_requests(data)
        assert ids
        assert decode_start_requests(encode_start_requests(ids)) == ids


# The stores


def facts(data: bytes) -> None:
    """A fact that was read is a fact: written and read again, it is the same."""
    with suppress(JournalFault):
        fact = codec.decode(1, FORMAT, data)
        assert codec.decode(1, FORMAT, codec.encode(fact)) == fact


def write_ahead_logs(data: bytes) -> None:
    """Any bytes are a log that is damaged or is not, beside any file of pages."""
    for log, pages in ((data, b""), (data, data[32:]), (data[:32], data)):
        assert write_ahead._is_damaged(io.BytesIO(log), io.BytesIO(pages)) in (True, False)


def head_notes(data: bytes) -> None:
    """A note that was understood is one that we could have written."""
    noted = head_note.understood(data)
    assert noted is None or noted.seq >= 0


def snapshot_files(data: bytes) -> None:
    """Nothing but a whole snapshot is taken for one: ``data`` is put over a good one, at the place it says."""
    whole = whole_snapshot()
    place = int.from_bytes(data[:2], "big") % len(whole)
    damaged = whole[:place] + data[2:] + whole[place + len(data[2:]) :]
    for candidate in (damaged, data, whole[: place + 1]):
        try:
            snapshots.unpack(io.BytesIO(candidate))
        except snapshots.Unusable:
            continue
        assert candidate == whole


def snapshot_parts(data: bytes) -> None:
    """Parts that somebody wrote with right checksums make a region or are unusable, and never anything else."""
    size = data[0] * 8 + 1 if data else 1
    header = snapshots.Header(1, bytes(16), 0, None)
    payloads = [msgspec.msgpack.encode(header), *_cut(data[1:], size)]
    with suppress(snapshots.Unusable):
        snapshots.unpack(io.BytesIO(b"".join(framed(payloads))))


def snapshot_values(data: bytes) -> None:
    """The same from JSON, where a small change is more often a value than noise."""
    header = snapshots.Header(1, bytes(16), 0, None)
    with suppress(msgspec.DecodeError, UnicodeDecodeError, snapshots.Unusable, RecursionError, OverflowError):
        payloads = [msgspec.msgpack.encode(part) for part in msgspec.json.decode(data, type=list[Any])]
        snapshots.unpack(io.BytesIO(b"".join(framed([msgspec.msgpack.encode(header), *payloads]))))


def frames(data: bytes) -> None:
    with suppress(BrokenStream):
        assert b"".join(framed(unframed(io.BytesIO(data)))) is not None


# The guest, whose server may be anybody


def responses(data: bytes) -> None:
    """A whole answer, no answer yet, or ``BadResponse``; and never more than may be held."""
    reader = ResponseReader()
    with suppress(BadResponse):
        for piece in (*_cut(data[1:], data[0] + 1 if data else 1), b""):
            response = reader.feed(piece)
            if response is not None:
                assert 100 <= response.status <= 999
                assert len(response.body) <= LONGEST_BODY * 2
                return


def documents(data: bytes) -> None:
    """What a hostile service says is a document or none; an agent can look at it, note it, and read its note."""
    try:
        document = decode_document(data)
    except WireError:
        return
    if document is None:
        return
    changes = list(Watcher().see(document, NOON))
    assert len(changes) >= len({event.event_id.upper() for event in document.events})
    explain(AgentConfig(), document, "web", NOON)
    for event in document.events:
        concerns(event, "web")
        members(event)
        event_json(event)
        seen = Seen(event, NOON, Verdict.IGNORE, ())
        assert record_lines.decode(record_lines.encode(seen)) == seen


def instances(data: bytes) -> None:
    with suppress(WireError):
        assert decode_instance(data).name


def offers(data: bytes) -> None:
    """What comes to the port of DHCP: an address or nothing."""
    mac, transaction = b"\x02\0\0\0\0\1", 7
    for datagram in (data, build_discover(mac, transaction)[:240].replace(b"\1", b"\2", 1) + data):
        found = endpoint_in(datagram, mac, transaction)
        assert found is None or [0 <= int(part) <= 255 for part in found.split(".")] == [True] * 4


def times(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for read in (parse_instant, parse_duration):
        with suppress(WireError):
            read(text)


def agent_files(data: bytes) -> None:
    """A file that cannot be obeyed is complained about."""
    checked = check_text(data.decode("utf-8", "replace"))
    assert checked.config is not None or checked.complaints


def agent_records(data: bytes) -> None:
    """Lines with right checksums that nobody wrote: a record that can be lived with, or a bad line."""
    records = []
    for body in data.split(b"\n"):
        with suppress(record_lines.BadLine):
            records.append(record_lines.decode(b"%08x %b\n" % (zlib.crc32(body), body)))
    fold_all(records)
    for record in records:
        again = record_lines.decode(record_lines.encode(record))  # what no byte can carry has become a question mark
        assert record_lines.decode(record_lines.encode(again)) == again


def barrier_words(data: bytes) -> None:
    """A member that holds the secret may say anything."""
    seal = _SEAL._seal(b"question", data)
    found = Seal(b"0123456789abcdef", MACHINE.chance).read_question(data, seal, NOON)
    assert isinstance(found, Question | str)
    question = Question("a", "web", "E", "ready", "1", NOON)
    _SEAL.read_answer(question, data, _SEAL._seal(b"answer 1", data))
    assert _SEAL.read_answer(question, data, data.decode("latin-1")) is None


# An engine, whose program may be anybody's


def engine_answers(data: bytes) -> None:
    """An answer is what the protocol says, of the machine and the host that were asked about, or a fault in words."""
    errand = Errand("e", ErrandKind.REDEPLOY, "x", "alpha", NOON, ref="web-0", to="beta")
    for read in (messages.card_of, messages.findings_of):
        with suppress(EngineFault):
            read(data)
    with suppress(EngineFault):
        listing = messages.listing_of(data, "alpha")
        assert {seen.host for seen in listing.machines} <= {"alpha"}
        assert len({seen.ref for seen in listing.machines}) == len(listing.machines)
    with suppress(EngineFault):
        seen = messages.sighting_for(data, errand)
        assert (seen.ref, seen.host in ("alpha", "beta")) == ("web-0", True)
    with suppress(EngineFault):
        assert messages.understood(data, messages.TakenAnswer, "answer").again_after >= 0
    why = messages.refusal_of(data).why
    assert why == "" or why.isprintable()
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        assert 100 <= msgspec.json.decode(data, type=AnswerLine).status <= 599


# The Resource Manager and the command line


def templates(data: bytes) -> None:
    """A template is understood or is not, in bounded time and room."""
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError, TemplateError, NeedsReference):
        found = msgspec.json.decode(to_json(data.decode()))
        template = found if isinstance(found, dict) else {"outputs": {"o": {"type": "object", "value": found}}}
        plan = make_plan(template, {}, _AROUND)
        for planned in plan.resources[:5]:
            plan.body_of(planned)
        msgspec.json.encode(plan.outputs())


def expressions(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    with suppress(TemplateError, NeedsReference):
        variables = {"a": "[createArray(1, 'x')]", "b": {"c": text[:200]}}
        template = {"resources": [], "variables": variables, "outputs": {"o": {"type": "string", "value": f"[{text}]"}}}
        msgspec.json.encode(make_plan(template, {}, _AROUND).outputs())


def loose_json(data: bytes) -> None:
    """What is JSON already means the same afterwards."""
    text = data.decode("utf-8", "replace")
    loosened = to_json(text)
    with suppress(ValueError, RecursionError):
        assert json.loads(loosened) == json.loads(text)


def access_tokens(data: bytes) -> None:
    assert not _ACCESS.accepts(data.decode("latin-1"), NOON)


def region_files(data: bytes) -> None:
    """A region file is obeyed or refused in a sentence."""
    with tempfile.NamedTemporaryFile(suffix=".toml") as file:
        file.write(data)
        file.flush()
        with suppress(CommandFailed):
            read_region_file(Path(file.name))


TARGETS: dict[str, Target] = {
    each.__name__: each
    for each in (
        metadata_requests,
        metadata_targets,
        approvals,
        facts,
        write_ahead_logs,
        head_notes,
        snapshot_files,
        snapshot_parts,
        snapshot_values,
        frames,
        responses,
        documents,
        instances,
        offers,
        times,
        agent_files,
        agent_records,
        barrier_words,
        engine_answers,
        templates,
        expressions,
        loose_json,
        access_tokens,
        region_files,
    )
}

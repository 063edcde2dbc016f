"""Where a fuzzer begins: something good for each target. ``python -m tests.fuzz.seeds`` writes them into the corpus.

The corpus is kept, so that what a run finds does not hang on what a version of the code would write today.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from forewarn.guest.agent.deciding.state import (
    Approval,
    Approving,
    Begun,
    Finished,
    Left,
    Record,
    Seen,
    StepOutcome,
    Undoing,
    fold_all,
    snapshot,
)
from forewarn.guest.agent.keeping import lines as record_lines
from forewarn.guest.agent.values import Step, Verdict
from forewarn.guest.system.dhcp import build_discover
from forewarn.stores import codec
from forewarn.stores.snapshots.frames import framed
from forewarn.stores.sqlite.head_note import HeadNote
from forewarn.terms import ScheduledEvent
from forewarn.web.resource_manager.login.access import Access
from tests.fuzz.snapshot import payloads
from tests.fuzz.targets import NOON
from tests.unit.stores.examples import EVERY_FACT

CORPUS = Path(__file__).parent / "corpus"
GOLDEN = Path(__file__).parents[1] / "golden"
GUID = "0A1B2C3D-0000-8000-8000-00000000000A"

_GET = (
    b"GET /vm/web/metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\nHost: 127.0.0.1\r\nMetadata: true\r\n\r\n"
)
_POST = (
    b"POST /metadata/scheduledevents?api-version=2017-03-01 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
    b"Expect: 100-continue\r\n\r\n{}"
)
_CHUNKED = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nX: y\r\n\r\n"
_UPGRADE = b"GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\nX-Forwarded-For: a\r\n\r\n"
_WAITING = b'GET / HTTP/1.0\r\nIf-None-Match: "3", W/4\r\nPrefer: wait=5, x\r\nConnection: keep-alive\r\n\r\n'

_CHUNKED_ANSWER = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a\r\nx\r\n0\r\nT: 1\r\n\r\n"

_TEMPLATE = b"""{
  // a comment
  "$schema": "x", parameters: {"n": {"type": "int", "defaultValue": 2, "allowedValues": [1, 2]}},
  "variables": {"a": "[concat('x', string(parameters('n')))]", "o": {"k": ["[variables('a')]"]}},
  "resources": [
    {"type": "A.B/c", "name": "[concat('n', copyIndex())]", "apiVersion": "2024-01-01",
     "copy": {"name": "l", "count": 3}},
    {"type": "A.B/d", "name": "m", "apiVersion": "2024-01-01", "dependsOn": ["l"], "condition": "[equals(1, 1)]",
     "properties": {"id": "[resourceId('A.B/c', 'n0')]", "x": "[reference('m').y]"}, }, /* end */
  ],
  "outputs": {"O": {"type": "string", "value": "[variables('o').k[0]]"}}
}"""
_EXPRESSIONS = (
    b"concat('a', toLower('B'), string(add(1, 2)))",
    b"if(equals(variables('b').c, 'x'), createObject('k', range(1, 3)), union(variables('a'), createArray('y')))",
    b"format('{0}-{1}', uniqueString('s'), resourceGroup().location)",
    b"join(split('a,b;c', createArray(',', ';')), '-')[0]",
    b'json(\'{"a": [1, {"b": null}]}\').a[1].b',
    b"substring(replace('hello', 'l', 'LL'), 1, 3)",
    b"min(max(createArray(3, sub(9, 2))), mod(7, div(6, 3)))",
)
_ENGINE_ANSWERS = (
    b'{"protocol":1,"name":"x","version":"2","kinds":["restart","pause"],"hosts":["alpha"],"offers":["wait"]}',
    (
        b'{"host":"alpha","complete":true,"cursor":"4","machines":[{"ref":"web-0","power":"running","boot_mark":"1"},'
        b'{"ref":"web-1","host":"alpha","power":"off","why":"crash","errand":"e"}]}'
    ),
    b'{"sighting":{"ref":"web-0","host":"beta","power":"running","boot_mark":"2"}}',
    b'{"asks":"stop web-0 #1"}',
    b'{"why":"task 7 runs","again_after":2.5}',
    b'{"why":"no room","lasting":false}',
    b'{"findings":[{"topic":"address","ok":true,"sentence":"It has one.","value":"10.0.0.1"}]}',
    b'{"id":7,"status":202,"body":{"cursor":"c"}}',
)
_AGENT = b"""[agent]
name = "web"
state_directory = "/var/lib/x"

[[rule]]
type = ["Reboot", "Redeploy"]
source = "User"
verdict = "prepare-then-approve"
steps = ["drain"]

[[step]]
name = "drain"
kind = "command"
run = ["/bin/true", "a"]
undo = "echo 'x'"
timeout = "5m"

[barrier]
listen = "0.0.0.0:7700"
peers = "http://{name}:7700"
secret_file = "/etc/x"
"""
_REGION = b"""[settings]
clock = "x60"
metadata = "[::1]:0"
notice_freeze = "15m"
throttle_per_second = 2.5

[[vm]]
name = "web"
count = 3
availability_set = "front"
tags = { team = "a" }

[[vm]]
name = "lone"
spot = true
eviction_policy = "Delete"
terminate_notice = "PT5M"
address = "10.0.0.1"
"""
_MACHINES = b"""[[engine]]
name = "boxes"
kind = "docker"
node = "alpha"

[[host]]
name = "rack-1"
engine = "boxes"
socket = "/run/docker.sock"
fence = ["off", "now"]
capacity = 7

[[blueprint]]
name = "worker"
engine = "boxes"
image = "w"
environment = { A = "b" }
memory = "5m"

[machines]
grace = "5s"
fence_after = "never"
parallel = 2
"""


def seeds() -> Iterator[tuple[str, str, bytes]]:
    """Target, name, content."""
    for number, data in enumerate((_GET, _POST + _GET, _CHUNKED, _UPGRADE, _WAITING)):
        yield "metadata_requests", f"request-{number}", b"\x07" + data
    yield "metadata_targets", "named", b"/vm/web/metadata/instance/compute/%6eame/?api-version=2021-02-01&format=text"
    yield "metadata_targets", "absolute", b"http://h/metadata/scheduledevents?API-version=2020-07-01&x=%zz&x"
    yield (
        "approvals",
        "two",
        b'{"DocumentIncarnation":"3","StartRequests":[{"EventId":"%b"},{"EventId":"a"}]}' % GUID.encode(),
    )
    for fact in EVERY_FACT:
        yield "facts", type(fact).__name__, codec.encode(fact)
    yield "write_ahead_logs", "two-frames", _log()
    yield "head_notes", "seven", _note()
    yield "snapshot_files", "a-byte", b"\x00\x20x"
    for number, payload in enumerate(payloads()):
        yield "snapshot_parts", f"part-{number}", b"\xff" + payload
        values = msgspec.msgpack.decode(payload)
        yield "snapshot_values", f"part-{number}", msgspec.json.encode([_short(values)])
    yield "snapshot_values", "all", msgspec.json.encode([_short(msgspec.msgpack.decode(each)) for each in payloads()])
    yield "frames", "three", b"".join(framed([b"a", b"b" * 100, b""]))
    yield "responses", "plain", b'\x20HTTP/1.1 200 OK\r\nContent-Length: 2\r\nETag: "1"\r\n\r\n{}'
    yield (
        "responses",
        "chunked",
        b"\x05HTTP/1.1 100 Continue\r\n\r\n" + _CHUNKED_ANSWER,
    )
    yield "responses", "until-closed", b"\x05HTTP/1.0 429 Too\r\nRetry-After: 7\r\n\r\nrest"
    for path in sorted((GOLDEN / "2020-07-01").glob("captured-*.json"))[:3]:
        yield "documents", path.stem, path.read_bytes()
    yield (
        "documents",
        "odd",
        b'{"DocumentIncarnation":"7","Events":[{"EventId":"a","Resources":["_web","x"],"NotBefore":"2026-01-01T00:00:00Z","DurationInSeconds":9.0}]}',
    )
    yield (
        "instances",
        "set",
        b'{"compute":{"resourceId":"/x/virtualMachineScaleSets/s/virtualMachines/3","osProfile":{"computerName":"c"}}}',
    )
    yield "offers", "told", build_discover(b"\x02\0\0\0\0\1", 7)[:240] + bytes((245, 4, 10, 0, 0, 1, 255))
    yield "times", "rfc", b"Mon, 17 Apr 2017 18:40:06 GMT"
    yield "times", "iso", b"2017-04-17T18:40:06.5+02:00"
    yield "times", "span", b"P1DT2H3.5S"
    yield "times", "people", b"1h30m"
    yield "agent_files", "whole", _AGENT
    yield "agent_records", "whole", _records()
    yield (
        "barrier_words",
        "question",
        b'{"asker":"a","asked":"web","event_id":"E","stance":"ready","number":"1","at":"2026-01-01T12:00:00Z"}',
    )
    yield "barrier_words", "answer", b'{"name":"web","event_id":"E","stance":"ready"}'
    for number, answer in enumerate(_ENGINE_ANSWERS):
        yield "engine_answers", f"answer-{number}", answer
    yield "templates", "whole", _TEMPLATE
    for number, expression in enumerate(_EXPRESSIONS):
        yield "expressions", f"good-{number}", expression
    yield "loose_json", "strict", b'{"a": ["x,]", "/* y */", "//z"], "b": {"c": null}}'
    yield "loose_json", "loose", b"{a: 1, /* c */ b: [1, 2, ], // d\n}"
    yield "access_tokens", "other", Access("other").issue("a", "i", "t", NOON).encode()
    yield "region_files", "whole", _REGION
    yield "region_files", "machines", _MACHINES


def _short(part: list[Any]) -> list[Any]:
    """Columns may be long, and one row is as good as many; where rows are named by numbers, JSON cannot say so."""
    return [column[:2] if isinstance(column, list) else {} if isinstance(column, dict) else column for column in part]


def _records() -> bytes:
    event = ScheduledEvent(GUID, "Scheduled", "Reboot", ("web",), NOON, "d", "User", 9)
    step = Step("drain", "command", {"run": ["/bin/true"]}, 3.0)
    records: list[Record] = [
        Seen(event, NOON, Verdict.APPROVE_NOW, ("drain",)),
        Begun(1, step, "boot", event),
        Finished(1, StepOutcome.DONE),
        Approving(GUID, Approval.INTENDED),
        Undoing(2, "drain", "boot"),
        Seen(event, NOON + timedelta(seconds=1), Verdict.IGNORE, ()),
    ]
    records = [*records, snapshot(fold_all(records)), Left(GUID)]
    return b"\n".join(record_lines.encode(record).removesuffix(b"\n").partition(b" ")[2] for record in records)


def _note() -> bytes:
    with TemporaryDirectory() as directory:
        note = HeadNote(Path(directory))
        note.write(7, bytes(range(16)))
        note.close()
        return (Path(directory) / "head").read_bytes()


def _log() -> bytes:
    """A write-ahead log with pages of the smallest size, as SQLite makes it."""
    with TemporaryDirectory() as directory, closing(sqlite3.connect(Path(directory) / "small")) as connection:
        connection.executescript("PRAGMA page_size=512; PRAGMA journal_mode=WAL; CREATE TABLE t (a)")
        return (Path(directory) / "small-wal").read_bytes()


def write() -> None:
    for target, name, content in seeds():
        path = CORPUS / target / f"{name}.seed"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    write()

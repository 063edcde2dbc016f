"""The audit of dependencies: what it finds, what it excuses, and that it never passes without having looked."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from requirements import audit
from requirements.audit import Finding, Pin

HASH = "--hash=sha256:" + "0" * 64
TODAY = date(2026, 11, 16)
NOWHERE = "http://127.0.0.1:9"  # the discard port, where nobody listens


@contextmanager
def answering(answer: str | Callable[[Any], Any]) -> Iterator[str]:
    """A server that answers every POST with this, or with what this makes of it."""

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers["Content-Length"]))
            body = (answer if isinstance(answer, str) else json.dumps(answer(json.loads(asked)))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nobody wants to know."""

    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def osv(vulnerable: dict[str, str]) -> AbstractContextManager[str]:
    """Answers as OSV does; ``vulnerable`` maps packages to advisories."""

    def answer(asked: Any) -> Any:
        found = [vulnerable.get(query["package"]["name"]) for query in asked["queries"]]
        return {"results": [{"vulns": [{"id": each}]} if each else {} for each in found]}

    return answering(answer)


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one old package; its list is of today."""
    for name in audit.LOCKS:
        (tmp_path / name).write_text("")
    (tmp_path / "server.txt").write_text(f"starlette==0.24.0 \\\n    {HASH}\n    # via fastapi\n")
    (tmp_path / "npm.json").write_text('{"packages": {"": {}}}')
    (tmp_path / "exceptions.toml").write_text("")
    advisory = {
        "id": "PYSEC-1",
        "aliases": ["CVE-1"],
        "package": "starlette",
        "affected": [{"introduced": "0", "fixed": "0.25.0"}],
    }
    (tmp_path / "list.json").write_text(
        json.dumps({"date": "2026-11-01", "source": "a test", "advisories": [advisory]})
    )
    monkeypatch.setattr(audit, "HERE", tmp_path)
    monkeypatch.setattr(audit, "NPM_LOCKS", (tmp_path / "npm.json",))
    monkeypatch.setattr(audit, "LIST", tmp_path / "list.json")
    monkeypatch.setattr(audit, "EXCEPTIONS", tmp_path / "exceptions.toml")
    return tmp_path


def test_our_own_requirements_are_pinned_hashed_and_not_known_to_be_bad() -> None:
    pins, faults = audit.read_locks()
    assert faults == []
    assert {pin.ecosystem for pin in pins} == {"PyPI", "npm"}
    assert audit.look_up(pins, json.loads(audit.LIST.read_text())["advisories"]) == []
    audit.read_exceptions(audit.EXCEPTIONS.read_text())


def test_every_pin_must_have_a_version_and_a_hash() -> None:
    text = (
        f"a==1 \\\n    {HASH} \\\n    {HASH}\nb>=2 {HASH}\nc==3\n# d\ne[x]==5 ; python_version > '3' {HASH}\n-r o.txt\n"
    )
    pins, faults = audit.read_lock(text, "x.txt")
    assert [pin.name for pin in pins] == ["a", "e"]
    assert faults == [
        "x.txt: b>=2 is not pinned to a version",
        "x.txt: c has no hash",
        "x.txt: -r is not pinned to a version",
    ]
    packages = {
        "": {},
        "node_modules/@a/b": {"version": "1", "integrity": "sha512-x"},
        "node_modules/c": {"version": "2"},
    }
    npm = json.dumps({"packages": packages})
    assert audit.read_npm_lock(npm, "lock") == (
        [Pin("npm", "@a/b", "1"), Pin("npm", "c", "2")],
        ["lock: c has no hash"],
    )


@pytest.mark.parametrize(
    ("version", "bad"),
    [
        ("1.0", False),
        ("1.8", True),
        ("1.8.1", True),
        ("1.8.2", False),
        ("0.5", True),
        ("0.9", False),
        ("x!y", True),
        ("2.0", False),
    ],
)
def test_a_version_is_bad_from_where_it_was_introduced_to_where_it_was_fixed(version: str, bad: bool) -> None:
    ranges = [{"introduced": "1.8", "fixed": "1.8.2"}, {"introduced": "0", "fixed": "0.6"}]
    found = audit.look_up([Pin("PyPI", "p", version)], [{"id": "A", "package": "p", "affected": ranges}])
    assert bool(found) is bad


def test_what_osv_knows_fails_the_audit(locks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with osv({"starlette": "GHSA-x"}) as base:
        assert audit.main(["--osv", base], TODAY) == 1
    told = capsys.readouterr().out
    assert "looked up at http://127.0.0.1" in told
    assert "FAILED: starlette 0.24.0: GHSA-x" in told


def test_what_osv_does_not_know_passes_and_says_who_was_asked(locks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with osv({}) as base:
        assert audit.main(["--osv", base], TODAY) == 0
    assert "1 pinned packages, looked up at" in capsys.readouterr().out


def test_without_osv_the_kept_list_counts_and_that_is_said(locks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.main(["--osv", NOWHERE], TODAY) == 1
    told = capsys.readouterr().out
    assert "NOT LOOKED UP" in told
    assert "1 advisories of 2026-11-01, 15 days old" in told
    assert "FAILED: starlette 0.24.0: PYSEC-1 (CVE-1)" in told


def test_a_kept_list_that_nobody_looks_after_fails(locks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (locks / "server.txt").write_text(f"starlette==1.10.0 {HASH}\n")
    assert audit.main(["--osv", NOWHERE], date(2027, 4, 30)) == 0
    assert audit.main(["--osv", NOWHERE], date(2027, 5, 1)) == 1
    assert "older than 180 days" in capsys.readouterr().out


@pytest.mark.parametrize("answer", ["[]", "{}", '{"results": []}', "nonsense"])
def test_something_else_that_answers_is_not_taken_for_osv(answer: str) -> None:
    with answering(answer) as base, pytest.raises(audit.Unreachable):
        audit.ask_osv([Pin("PyPI", "a", "1")], base)


def test_a_server_that_never_answers_is_not_waited_for() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(audit.Unreachable, match=r"no answer|timed out"),
    ):
        audit.ask_osv([Pin("PyPI", "a", "1")], f"http://127.0.0.1:{silent.getsockname()[1]}", patience_seconds=0.2)


def test_an_exception_has_a_reason_and_an_end_and_is_needed() -> None:
    finding = Finding(Pin("PyPI", "p", "1"), "GHSA-x", ("CVE-1",))
    exception = {"package": "p", "id": "CVE-1", "reason": "not reached", "until": TODAY}
    assert audit.excused([finding], [exception], TODAY) == (
        [],
        ["p 1: GHSA-x (CVE-1): excused until 2026-11-16 (not reached)"],
    )
    late = {**exception, "until": date(2026, 11, 15)}
    assert audit.excused([finding], [late], TODAY)[0] == ["p 1: GHSA-x (CVE-1): excused until 2026-11-15 (not reached)"]
    assert audit.excused([], [exception], TODAY)[0] == [
        "the exception for CVE-1 of p is not needed any more; take it out"
    ]
    for bad in (
        'package="p"\nid="x"\nuntil=2026-11-16',
        'package="p"\nid="x"\nreason=""\nuntil=2026-11-16',
        'package="p"\nid="x"\nreason="r"\nuntil="soon"',
    ):
        with pytest.raises(SystemExit):
            audit.read_exceptions(f"[[exception]]\n{bad}\n")

"""``make check`` asks here whether a pinned package is known to be bad. ``python requirements/audit.py``

Every requirement must be pinned and hashed. Then the advisories are looked up: at OSV (osv.dev) where it can be
reached, which knows those of PyPA and GitHub, in one request; else in the list that is kept beside this file. Which of
the two it was is said, because the list knows less. A list that nobody has looked after for too long is as good as
none: then the audit fails. So it does for a known vulnerability, unless ``audit-exceptions.toml`` says why not, and
until when.

``--refresh`` writes the list anew, from OSV. ``pip-audit`` was tried: it has no way to look without a network, and then
asks once for each of some two hundred packages.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
import tomllib
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

HERE = Path(__file__).parent
LOCKS = (
    "server.txt",
    "dev.txt",
    "build.txt",
    "az.txt",
    "sdk.txt",
    "package.txt",
    "chart.txt",
    "site.txt",
    "release.txt",
)
NPM_LOCKS = tuple(
    HERE.parent / f"tests/{place}/js/package-lock.json" for place in ("e2e", "portal", "platforms/packages")
)
LIST = HERE / "advisories.json"
EXCEPTIONS = HERE / "audit-exceptions.toml"
OSV = "https://api.osv.dev"
OLDEST_LIST_DAYS = 180
_PATIENCE_SECONDS = 4.0
_AT_ONCE = 1000  # what OSV takes in one request
_PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?==(?P<version>[^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


@dataclass(frozen=True, order=True)
class Pin:
    """One package as it is installed."""

    ecosystem: str
    name: str
    version: str


@dataclass(frozen=True)
class Finding:
    """An advisory about a pin, under every name it goes by."""

    pin: Pin
    id: str
    aliases: tuple[str, ...] = ()

    def __str__(self) -> str:
        known = f" ({', '.join(self.aliases)})" if self.aliases else ""
        return f"{self.pin.name} {self.pin.version}: {self.id}{known}"


class Unreachable(Exception):  # noqa: N818 - it reads as what it is
    """Nobody could be asked."""


# What is installed


def read_lock(text: str, where: str) -> tuple[list[Pin], list[str]]:
    """The pins of a lock file, and what is wrong with it."""
    pins, faults = [], []
    for entry in text.replace("\\\n", " ").splitlines():
        line = entry.partition(" #")[0].strip()
        if not line or line.startswith("#"):
            continue
        found = _PIN.match(line)
        if found is None:
            faults.append(f"{where}: {line.split()[0]} is not pinned to a version")
        elif not _HASH.search(line):
            faults.append(f"{where}: {found['name']} has no hash")
        else:
            pins.append(Pin("PyPI", canonicalize_name(found["name"]), found["version"]))
    return pins, faults


def read_npm_lock(text: str, where: str) -> tuple[list[Pin], list[str]]:
    pins, faults = [], []
    for path, entry in json.loads(text)["packages"].items():
        if not path:
            continue
        name = entry.get("name") or path.rpartition("node_modules/")[2]
        if not str(entry.get("integrity", "")).startswith("sha512-"):
            faults.append(f"{where}: {name} has no hash")
        pins.append(Pin("npm", name, entry["version"]))
    return pins, faults


def read_locks() -> tuple[list[Pin], list[str]]:
    pins: set[Pin] = set()
    faults: list[str] = []
    for name in LOCKS:
        found, wrong = read_lock((HERE / name).read_text(), name)
        pins.update(found)
        faults += wrong
    for lock in NPM_LOCKS:
        found, wrong = read_npm_lock(lock.read_text(), lock.name)
        pins.update(found)
        faults += wrong
    return sorted(pins), faults


# What is known


def ask_osv(pins: Sequence[Pin], base: str = OSV, *, patience_seconds: float = _PATIENCE_SECONDS) -> list[Finding]:
    """All advisories about these versions; raises ``Unreachable``."""
    findings = []
    for start in range(0, len(pins), _AT_ONCE):
        some = pins[start : start + _AT_ONCE]
        queries = [{"package": {"name": p.name, "ecosystem": p.ecosystem}, "version": p.version} for p in some]
        answer = _post(f"{base}/v1/querybatch", {"queries": queries}, patience_seconds)
        results = answer.get("results")
        if not isinstance(results, list) or len(results) != len(some):
            raise Unreachable("what answers there is not OSV")
        findings += [
            Finding(pin, each["id"])
            for pin, result in zip(some, results, strict=True)
            for each in result.get("vulns", ())
        ]
    return findings


def _post(url: str, body: Any, patience_seconds: float = _PATIENCE_SECONDS) -> dict[str, Any]:
    """In a thread, because looking up a name has no time limit of its own."""
    heard: list[Any] = []
    thread = threading.Thread(target=lambda: heard.append(_exchange(url, body, patience_seconds)), daemon=True)
    thread.start()
    thread.join(patience_seconds)
    if not heard:
        raise Unreachable(f"no answer within {patience_seconds:g} s")
    if isinstance(heard[0], Exception):
        raise Unreachable(str(heard[0])) from None
    if not isinstance(heard[0], dict):
        raise Unreachable("what answers there is not OSV")
    return heard[0]


def _exchange(url: str, body: Any, patience_seconds: float) -> Any:
    # An https address of ours
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=patience_seconds) as response:  # noqa: S310 - our own constant
            return json.loads(response.read())
    except (OSError, ValueError) as problem:
        return problem


def look_up(pins: Iterable[Pin], advisories: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """The kept list's advisories about these versions."""
    by_name: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for advisory in advisories:
        by_name.setdefault((advisory.get("ecosystem", "PyPI"), advisory["package"]), []).append(advisory)
    return [
        Finding(pin, advisory["id"], tuple(advisory.get("aliases", ())))
        for pin in pins
        for advisory in by_name.get((pin.ecosystem, pin.name), ())
        if any(_within(pin.version, affected) for affected in advisory["affected"])
    ]


def _within(version: str, affected: Mapping[str, str]) -> bool:
    """From ``introduced`` up to and without ``fixed``, or every later one. A version that cannot be read is in."""
    try:
        found = Version(version)
        if found < Version(affected.get("introduced", "0")):
            return False
        return "fixed" not in affected or found < Version(affected["fixed"])
    except InvalidVersion:
        return True


# What is excused


def excused(
    findings: Iterable[Finding], exceptions: Sequence[Mapping[str, Any]], today: date
) -> tuple[list[str], list[str]]:
    """What is wrong, and what is excused: each as a sentence."""
    wrong: list[str] = []
    fine: list[str] = []
    used: set[int] = set()
    for finding in findings:
        place = next((n for n, each in enumerate(exceptions) if _covers(each, finding)), None)
        if place is None:
            wrong.append(f"{finding}")
            continue
        used.add(place)
        until, reason = exceptions[place]["until"], exceptions[place]["reason"]
        (wrong if until < today else fine).append(f"{finding}: excused until {until} ({reason})")
    for place, each in enumerate(exceptions):
        if place not in used:
            wrong.append(f"the exception for {each['id']} of {each['package']} is not needed any more; take it out")
    return wrong, fine


def _covers(exception: Mapping[str, Any], finding: Finding) -> bool:
    return exception["package"] == finding.pin.name and exception["id"] in (finding.id, *finding.aliases)


def read_exceptions(text: str) -> list[dict[str, Any]]:
    exceptions: list[dict[str, Any]] = tomllib.loads(text).get("exception", [])
    for each in exceptions:
        if set(each) != {"package", "id", "reason", "until"} or not each["reason"] or type(each["until"]) is not date:
            raise SystemExit(
                f"{EXCEPTIONS.name}: an exception has a package, an id, a reason and a date 'until': {each}"
            )
    return exceptions


# The audit


def audit(today: date, base: str = OSV) -> Iterator[tuple[bool, str]]:
    """Sentences, each with whether it is a reason to fail."""
    pins, faults = read_locks()
    yield from ((True, fault) for fault in faults)
    exceptions = read_exceptions(EXCEPTIONS.read_text())
    try:
        findings = ask_osv(pins, base)
        yield False, f"{len(pins)} pinned packages, looked up at {base} now"
    except Unreachable as problem:
        kept = json.loads(LIST.read_text())
        age = (today - date.fromisoformat(kept["date"])).days
        findings = look_up(pins, kept["advisories"])
        compared = f"{len(pins)} pinned packages were compared with the kept list instead"
        what = f"{len(kept['advisories'])} advisories of {kept['date']}, {age} days old"
        yield False, f"NOT LOOKED UP: {base} does not answer ({problem}). {compared}: {what}. It knows less."
        if age > OLDEST_LIST_DAYS:
            yield True, f"the kept list is older than {OLDEST_LIST_DAYS} days: run 'make advisories' where OSV answers"
    wrong, fine = excused(findings, exceptions, today)
    yield from ((False, sentence) for sentence in fine)
    yield from ((True, sentence) for sentence in wrong)


def refresh(today: date, base: str = OSV) -> None:
    """Every advisory about a package that is pinned, whatever its version."""
    pins, _ = read_locks()
    advisories = []
    for ecosystem, name in sorted({(pin.ecosystem, pin.name) for pin in pins}):
        answer = _post(f"{base}/v1/query", {"package": {"name": name, "ecosystem": ecosystem}})
        advisories += [_kept(each, ecosystem, name) for each in answer.get("vulns", ())]
    content = {"date": today.isoformat(), "source": base, "advisories": advisories}
    LIST.write_text(json.dumps(content, indent=1) + "\n")
    print(f"{len(advisories)} advisories written to {LIST}")


def _kept(vulnerability: Mapping[str, Any], ecosystem: str, name: str) -> dict[str, Any]:
    events = [
        event
        for affected in vulnerability.get("affected", ())
        if affected.get("package", {}).get("name", "").lower() == name.lower()
        for each in affected.get("ranges", ())
        if each.get("type") in ("ECOSYSTEM", "SEMVER")
        for event in each["events"]
    ]
    ranges: list[dict[str, str]] = []
    for event in events:
        if "introduced" in event:
            ranges.append({"introduced": event["introduced"]})
        elif ranges and "fixed" in event:
            ranges[-1]["fixed"] = event["fixed"]
    return {
        "id": vulnerability["id"],
        "aliases": vulnerability.get("aliases", []),
        "ecosystem": ecosystem,
        "package": name,
        "affected": ranges or [{"introduced": "0"}],
    }


def main(arguments: Sequence[str] | None = None, today: date | None = None) -> int:
    parser = argparse.ArgumentParser(description="Are pinned packages known to be bad?")
    parser.add_argument("--refresh", action="store_true", help="write the kept list anew, from OSV")
    parser.add_argument("--osv", default=OSV, help="where OSV is")
    args = parser.parse_args(arguments)
    now = today or date.today()  # noqa: DTZ011 - a day more or less is no matter here
    if args.refresh:
        try:
            refresh(now, args.osv)
        except Unreachable as problem:
            print(f"audit: {args.osv} does not answer ({problem}); the list stays as it is.", file=sys.stderr)
            return 1
        return 0
    failed = False
    for bad, sentence in audit(now, args.osv):
        failed = failed or bad
        print(f"audit: {'FAILED: ' if bad else ''}{sentence}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

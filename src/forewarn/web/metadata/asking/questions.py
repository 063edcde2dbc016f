"""From a request to a question, in the one order in which a request is checked.

``Host`` → ``X-Forwarded-For`` → ``Metadata`` → path (and who is calling) → verb → query and api-version. Throttle and
body come after, because they need more than the request. Nothing here knows a region: who is calling is asked of the
caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import unquote, unquote_plus

from forewarn.core.region import Vm
from forewarn.web.metadata.asking.request import NEVER, Request, Unless, read_unless, read_wait
from forewarn.wire import errors, versions
from forewarn.wire.errors import ErrorReply
from forewarn.wire.versions import ApiVersion

_PATH_VERSION = re.compile(r"latest|\{latest\}|v[0-9][0-9.]{0,9}|[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LONGEST_REMEMBERED = 256  # bytes of a target: a document's has about a hundred with the longest name of a VM
_MOST_REMEMBERED = 16_384  # as many as answering/recall.py keeps
_VERBS = {"scheduledevents": ("GET", "POST"), "instance": ("GET",), "versions": ("GET",)}


@dataclass(frozen=True, slots=True)
class ReadDocument:
    vm: Vm
    named: str | None  # the name in the path
    version: ApiVersion
    unless: Unless = NEVER
    wait_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class ApproveEvents:
    vm: Vm
    body: bytes


@dataclass(frozen=True, slots=True)
class ReadInstance:
    vm: Vm
    version: str
    steps: tuple[str, ...]  # the way down from the root
    format: str | None


@dataclass(frozen=True, slots=True)
class ReadVersions:
    vm: Vm


Question: TypeAlias = ReadDocument | ApproveEvents | ReadInstance | ReadVersions


@dataclass(frozen=True, slots=True)
class Target:
    """A request target taken apart. ``service`` is None where the path leads nowhere."""

    named: str | None
    service: str | None
    steps: tuple[str, ...]
    query: tuple[tuple[str, str], ...]  # names in lower case
    versioned: bool = False  # by a segment of the path, as a preview of 2017 had it

    def value(self, name: str) -> str | None:
        return dict(self.query).get(name)

    def twice(self) -> str | None:
        """A parameter that is given more than once."""
        names = [name for name, _ in self.query]
        return next((name for name in names if names.count(name) > 1), None)


def question_of(request: Request, who: Callable[[str | None], Vm | None], longest_wait: int) -> Question | ErrorReply:
    """What is asked, or why it is not answered."""
    target = read_target(request.target)
    verb = request.verb.decode("ascii", "replace")
    if not request.http_1_0 and len(request.values(b"host")) != 1:
        return errors.NO_HOST
    if request.values(b"x-forwarded-for"):
        return errors.FORWARDED
    if not _has_metadata_header(request) and not _may_lack_header(verb, target):
        return errors.MISSING_HEADER
    vm = None if target.service is None else who(target.named)
    if vm is None or target.service is None:
        return errors.NOT_FOUND
    if verb not in _VERBS[target.service]:
        return errors.method_not_allowed(*_VERBS[target.service])
    repeated = target.twice()
    if repeated is not None:
        return errors.duplicate_parameter(repeated)
    if target.versioned:
        return errors.BAD_VERSION
    if target.service == "versions":
        return ReadVersions(vm)
    if target.service == "instance":
        return _instance(vm, target)
    return _scheduled_events(vm, verb, target, request, longest_wait)


def _instance(vm: Vm, target: Target) -> Question | ErrorReply:
    version = target.value("api-version") or ""
    if not versions.is_imds(version):
        return errors.BAD_VERSION
    return ReadInstance(vm, version, target.steps, target.value("format"))


def _scheduled_events(vm: Vm, verb: str, target: Target, request: Request, longest_wait: int) -> Question | ErrorReply:
    version = versions.find(target.value("api-version") or "")
    if version is None:
        return errors.BAD_VERSION
    if verb == "POST" and _is_encoded(request):
        return errors.ENCODED
    if verb == "POST":
        return ApproveEvents(vm, request.body)
    unless = read_unless(request.values(b"if-none-match"))
    wait_seconds = None if unless is NEVER else read_wait(request.values(b"prefer"), longest_wait)
    return ReadDocument(vm, target.named, version, unless, wait_seconds)


def _has_metadata_header(request: Request) -> bool:
    values = request.values(b"metadata")
    return bool(values) and all(value.lower() == b"true" for value in values)


def _is_encoded(request: Request) -> bool:
    """Whether the body is compressed. No published sample does that, and unpacked it may be of any size."""
    return any(value.lower() not in (b"", b"identity") for value in request.values(b"content-encoding"))


def _may_lack_header(verb: str, target: Target) -> bool:
    """The oldest version took approvals without the header, and its samples send none."""
    if verb != "POST" or target.service != "scheduledevents" or target.twice() is not None:
        return False
    version = versions.find(target.value("api-version") or "")
    return version is not None and not version.post_needs_header


def read_target(raw: bytes) -> Target:
    """Take a request target apart. Segments are decoded after they are told apart, so no %2F makes a new one.

    VMs ask for the same again and again, whatever else is in their requests, so short targets are remembered.
    """
    return _read_again(raw) if len(raw) <= _LONGEST_REMEMBERED else _read_anew(raw)


def _read_anew(raw: bytes) -> Target:
    path, _, query = _origin_form(raw.decode("latin-1")).partition("?")
    named, segments = _named(path)
    versioned = len(segments) > 2 and _PATH_VERSION.fullmatch(segments[1].lower()) is not None
    service, steps = _service([segments[0], *segments[2:]] if versioned else segments)
    return Target(named, service, steps, _parameters(query), versioned)


_read_again = lru_cache(_MOST_REMEMBERED)(_read_anew)


def _origin_form(text: str) -> str:
    """``http://host/path`` is what a client sends that takes us for a proxy; what counts is the path."""
    scheme, mark, rest = text.partition("://")
    if mark and scheme.lower() in ("http", "https"):
        return "/" + rest.partition("/")[2]
    return text


def _named(path: str) -> tuple[str | None, list[str]]:
    """The VM that the path names, and the segments after it."""
    root, *raw = path.split("/")
    segments = [unquote(segment) for segment in raw]
    if root:
        return None, []
    if len(segments) > 2 and segments[0].lower() == "vm":
        return segments[1], segments[2:]
    return None, segments


def _service(segments: list[str]) -> tuple[str | None, tuple[str, ...]]:
    """What is asked for below ``/metadata``, in any case, with or without a slash at the end."""
    if len(segments) < 2 or segments[0].lower() != "metadata":
        return None, ()
    steps = segments[2:-1] if segments[-1] == "" else segments[2:]
    service = segments[1].lower()
    if service not in _VERBS or (steps and service != "instance"):
        return None, ()
    return service, tuple(steps)


def _parameters(query: str) -> tuple[tuple[str, str], ...]:
    pairs = [piece.partition("=") for piece in query.split("&") if piece]
    return tuple((_text(name).lower(), _text(value)) for name, _, value in pairs)


def _text(quoted: str) -> str:
    return unquote_plus(quoted, "utf-8", "replace")

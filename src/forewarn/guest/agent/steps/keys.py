"""Which keys each kind of step takes, and what is wrong with those that a file gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from forewarn.guest.agent.config.complaints import meant
from forewarn.guest.agent.config.section import toml_word, url_problem
from forewarn.wire.json_bytes import WireError
from forewarn.wire.times import parse_duration

Check = Callable[[object], str]  # what is wrong with a value, or nothing

# What every step has, whatever its kind.
COMMON = ("name", "kind", "timeout", "retries", "repeatable")


@dataclass(frozen=True, slots=True)
class KeyComplaint:
    """What is wrong with one key of a step; ``key`` is empty where one is missing."""

    key: str
    message: str
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one kind."""

    checks: Mapping[str, Check]
    required: tuple[str, ...] = ()
    either: tuple[str, ...] = ()  # exactly one of these
    examples: Mapping[str, str] = field(default_factory=dict)

    def check(self, settings: Mapping[str, object]) -> list[KeyComplaint]:
        """Everything that is wrong, in the order of the file and then of what is missing."""
        return [*self._wrong(settings), *self._missing(settings)]

    def _wrong(self, settings: Mapping[str, object]) -> Iterable[KeyComplaint]:
        for key, value in settings.items():
            if key not in self.checks:
                yield KeyComplaint(key, f"has no key {key!r}", meant(key, (*self.checks, *COMMON)))
            elif problem := self.checks[key](value):
                yield KeyComplaint(key, f"has a {key} that {problem}", self._example(key))

    def _missing(self, settings: Mapping[str, object]) -> Iterable[KeyComplaint]:
        for key in self.required:
            if key not in settings:
                yield KeyComplaint("", f"needs {key}", self._example(key))
        given = [key for key in self.either if key in settings]
        if self.either and len(given) != 1:
            choice = " or ".join(self.either)
            yield KeyComplaint(given[-1] if given else "", f"needs {choice}, {'not both' if given else 'one of them'}")

    def _example(self, key: str) -> str:
        return f"write {key} = {self.examples[key]}" if key in self.examples else ""


def _text(value: object) -> str:
    if not isinstance(value, str):
        return f"must be text, not {toml_word(value)}"
    return "" if value.strip() else "is empty"


def _flag(value: object) -> str:
    return "" if isinstance(value, bool) else f"must be true or false, not {toml_word(value)}"


def _words(value: object) -> str:
    """A command: one text, or a list of them."""
    if isinstance(value, list):
        return _texts(value)
    return _text(value) if isinstance(value, str) else f"must be text or a list of texts, not {toml_word(value)}"


def _texts(value: object) -> str:
    if not isinstance(value, list):
        return f"must be a list of texts, not {toml_word(value)}"
    return "" if value and all(isinstance(each, str) and each for each in value) else "must be a list of texts"


def _table(value: object) -> str:
    if not isinstance(value, dict):
        return f"must be a table, not {toml_word(value)}"
    return "" if all(isinstance(each, str) for each in value.values()) else "must have texts as values"


def _body(value: object) -> str:
    return "" if isinstance(value, str | dict) else f"must be text or a table, not {toml_word(value)}"


def _path(value: object) -> str:
    problem = _text(value)
    return problem or ("" if str(value).startswith("/") else "is not an absolute path")


def _url(value: object) -> str:
    return _text(value) or url_problem(str(value))


def _method(value: object) -> str:
    problem = _text(value)
    return problem or ("" if str(value).isascii() and str(value).isalpha() else "is not an HTTP method")


def _duration(value: object) -> str:
    if not isinstance(value, str):
        return f"must be a duration with its unit, not {toml_word(value)}"
    try:
        return "" if parse_duration(value).total_seconds() > 0 else "must be longer than nothing"
    except WireError:
        return "is not a duration"


STEP_KINDS: Mapping[str, Keys] = {
    "command": Keys(
        {"run": _words, "undo": _words, "environment": _table, "shell": _flag, "directory": _path},
        required=("run",),
        examples={"run": '["/usr/local/bin/drain"]', "undo": '["/usr/local/bin/undrain"]', "directory": '"/srv/app"'},
    ),
    "systemd": Keys({"units": _texts}, required=("units",), examples={"units": '["worker.service"]'}),
    "http": Keys(
        {
            "url": _url,
            "method": _method,
            "headers": _table,
            "body": _body,
            "undo_url": _url,
            "undo_method": _method,
            "undo_body": _body,
        },
        required=("url",),
        examples={"url": '"http://127.0.0.1:8080/drain"', "method": '"POST"'},
    ),
    "wait": Keys(
        {
            "command": _words,
            "url": _url,
            "every": _duration,
            "environment": _table,
            "shell": _flag,
            "directory": _path,
        },
        either=("command", "url"),
        examples={"every": '"2s"', "url": '"http://127.0.0.1:8080/idle"', "command": '["/usr/local/bin/is-idle"]'},
    ),
    "ready-file": Keys({"path": _path}, required=("path",), examples={"path": '"/run/app/ready"'}),
    "haproxy": Keys(
        {"socket": _path, "backend": _text, "server": _text},
        required=("socket", "backend", "server"),
        examples={"socket": '"/run/haproxy/admin.sock"', "backend": '"web"', "server": '"web-0"'},
    ),
    "kubernetes": Keys(
        {"node": _text, "drain": _flag, "kubectl": _text},
        examples={"kubectl": '"/usr/local/bin/kubectl"'},
    ),
}

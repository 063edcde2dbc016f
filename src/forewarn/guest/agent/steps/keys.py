"""The keys of a step in a file: which there are, what each is for, and what is wrong with those that were given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from forewarn.guest.agent.toml_words import meant, toml_word, url_problem
from forewarn.wire.json_bytes import WireError
from forewarn.wire.times import parse_duration

Check = Callable[[object], str]  # what is wrong with a value, or nothing

# What every step has, whatever its kind.
COMMON = ("name", "kind", "system", "timeout", "retries", "repeatable")


@dataclass(frozen=True, slots=True)
class KeyComplaint:
    """What is wrong with one key of a step; ``key`` is empty where one is missing."""

    key: str
    message: str
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a kind."""

    check: Check
    about: str  # what it is, in Markdown, for the table in docs/agent.md
    example: str = ""  # a value as it stands in the file, for the complaint about a wrong or missing one
    required: bool = False


@dataclass(frozen=True, slots=True)
class StepKeys:
    """The keys of one kind, in the order in which they are told."""

    all: Mapping[str, Key]
    either: tuple[str, ...] = ()  # exactly one of these

    def check(self, settings: Mapping[str, object]) -> list[KeyComplaint]:
        """Everything that is wrong, in the order of the file and then of what is missing."""
        return [*self._wrong(settings), *self._missing(settings)]

    def _wrong(self, settings: Mapping[str, object]) -> Iterable[KeyComplaint]:
        for key, value in settings.items():
            if key not in self.all:
                yield KeyComplaint(key, f"has no key {key!r}", meant(key, (*self.all, *COMMON)))
            elif problem := self.all[key].check(value):
                yield KeyComplaint(key, f"has a {key} that {problem}", self._example(key))

    def _missing(self, settings: Mapping[str, object]) -> Iterable[KeyComplaint]:
        for key, each in self.all.items():
            if each.required and key not in settings:
                yield KeyComplaint("", f"needs {key}", self._example(key))
        given = [key for key in self.either if key in settings]
        if self.either and len(given) != 1:
            choice = " or ".join(self.either)
            yield KeyComplaint(given[-1] if given else "", f"needs {choice}, {'not both' if given else 'one of them'}")

    def _example(self, key: str) -> str:
        example = self.all[key].example
        return f"write {key} = {example}" if example else ""


def check_text(value: object) -> str:
    if not isinstance(value, str):
        return f"must be text, not {toml_word(value)}"
    return "" if value.strip() else "is empty"


def check_flag(value: object) -> str:
    return "" if isinstance(value, bool) else f"must be true or false, not {toml_word(value)}"


def check_words(value: object) -> str:
    """A command: one text, or a list of them."""
    if isinstance(value, list):
        return check_texts(value)
    return check_text(value) if isinstance(value, str) else f"must be text or a list of texts, not {toml_word(value)}"


def check_texts(value: object) -> str:
    if not isinstance(value, list):
        return f"must be a list of texts, not {toml_word(value)}"
    return "" if value and all(isinstance(each, str) and each for each in value) else "must be a list of texts"


def check_table(value: object) -> str:
    if not isinstance(value, dict):
        return f"must be a table, not {toml_word(value)}"
    return "" if all(isinstance(each, str) for each in value.values()) else "must have texts as values"


def check_body(value: object) -> str:
    return "" if isinstance(value, str | dict) else f"must be text or a table, not {toml_word(value)}"


def check_path(value: object) -> str:
    problem = check_text(value)
    return problem or ("" if is_absolute(str(value)) else "is not an absolute path")


def is_absolute(path: str) -> bool:
    """On Linux or on Windows: one file may be for both."""
    return path.startswith(("/", "\\\\")) or (path[1:2] == ":" and path[2:3] in ("/", "\\"))


def check_url(value: object) -> str:
    return check_text(value) or url_problem(str(value))


def check_https(value: object) -> str:
    return check_text(value) or url_problem(str(value), ("https",))


def check_method(value: object) -> str:
    problem = check_text(value)
    return problem or ("" if str(value).isascii() and str(value).isalpha() else "is not an HTTP method")


def check_duration(value: object) -> str:
    if not isinstance(value, str):
        return f"must be a duration with its unit, not {toml_word(value)}"
    try:
        return "" if parse_duration(value).total_seconds() > 0 else "must be longer than nothing"
    except WireError:
        return "is not a duration"

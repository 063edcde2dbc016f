"""One table of an ``agent.toml``, read key by key: each reader returns a value of the right type or complains.

After a complaint a reader goes on with the default, so that one pass finds everything that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from forewarn.guest.agent.config.complaints import Complaints
from forewarn.guest.agent.config.toml_lines import Place
from forewarn.guest.agent.toml_words import meant, toml_word
from forewarn.wire.json_bytes import WireError
from forewarn.wire.times import format_duration, parse_duration


class Section:
    """The keys of one table. ``title`` is how complaints call it."""

    def __init__(self, book: Complaints, place: Place, title: str, values: Mapping[str, object]) -> None:
        self.book = book
        self.place = place
        self.title = title
        self.values = values
        self._asked: list[str] = []

    @property
    def line(self) -> int:
        return self.book.line(*self.place)

    @property
    def sound(self) -> bool:
        return self.book.sound(self.place)

    def complain(self, key: str, message: str, suggestion: str = "") -> None:
        self.book.complain((*self.place, key), f"{key} of {self.title} {message}", suggestion)

    def warn(self, key: str, message: str, suggestion: str = "") -> None:
        self.book.warn((*self.place, key), f"{key} of {self.title} {message}", suggestion)

    def has(self, key: str) -> bool:
        return key in self.values

    def rest(self) -> dict[str, object]:
        """What no reader has asked for."""
        return {key: value for key, value in self.values.items() if key not in self._asked}

    def refuse_rest(self) -> None:
        """Complain of each key that was not read: it is unknown, most likely misspelled."""
        for key in self.rest():
            self.book.complain((*self.place, key), f"{self.title} has no key {key!r}", meant(key, self._asked))

    def text(self, key: str, default: str = "", *, required: bool = False, example: str = "") -> str:
        value = self._take(key)
        if isinstance(value, str) and (value.strip() or not required):
            return value
        if value is not None:
            blank = isinstance(value, str)
            self.complain(key, "is empty" if blank else f"must be text, not {toml_word(value)}", _such(example))
        elif required:
            self.book.complain(self.place, f"{self.title} has no {key}", _such(f"{key} = {example}"))
        return default

    def choice(self, key: str, known: Iterable[str], default: str = "", *, required: bool = False) -> str:
        words = tuple(known)
        value = self.text(key, default, required=required, example=f'"{words[0]}"')
        if value in words or not self.has(key) or value == default:
            return value
        self.complain(key, f"cannot be {value!r}", meant(value, words))
        return default

    def flag(self, key: str, default: bool) -> bool:
        value = self._take(key)
        if isinstance(value, bool):
            return value
        if value is not None:
            self.complain(key, f"must be true or false, not {toml_word(value)}", "write it without quotes")
        return default

    def texts(self, key: str, example: str) -> tuple[str, ...] | None:
        """A list of words, None where the key is absent. An empty list is refused: it would match nothing, or all."""
        value = self._take(key)
        if value is None:
            return None
        if not isinstance(value, list):
            wanted = f'["{value}"]' if isinstance(value, str) else example
            self.complain(key, f"must be a list, not {toml_word(value)}", f"write {key} = {wanted}")
            return None
        for number, each in enumerate(value):
            if not isinstance(each, str) or not each:
                self._complain_of_item(key, number, f"must hold texts, not {toml_word(each)}", f"such as {example}")
        words = tuple(each for each in value if isinstance(each, str) and each)
        if not value:
            self.complain(key, "is an empty list", "leave the key out for any")
        for number, each in enumerate(words):
            if each in words[:number]:
                self._complain_of_item(key, number, f"has {each!r} twice", "once is enough")
        return words

    def choices(self, key: str, known: Iterable[str]) -> tuple[str, ...]:
        """A list of known words; a wrong one is complained about and left out."""
        words = tuple(known)
        given = self.texts(key, f'["{words[0]}"]') or ()
        for number, each in enumerate(given):
            if each not in words:
                self._complain_of_item(key, number, f"cannot have {each!r}", meant(each, words))
        return tuple(each for each in given if each in words)

    def seconds(self, key: str, default: float, low: str, high: str) -> float:
        found = self.optional_seconds(key, low, high)
        return default if found is None else found

    def optional_seconds(self, key: str, low: str, high: str) -> float | None:
        """A duration with its unit, within bounds."""
        value = self._take(key)
        if value is None:
            return None
        if not isinstance(value, str):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            hint = f'write {key} = "{value}s" for seconds' if number else f'write {key} = "{high}"'
            self.complain(key, f"must be a duration with its unit, not {toml_word(value)}", hint)
            return None
        try:
            found = parse_duration(value)
        except WireError as problem:
            self.complain(key, f"is not right: {str(problem).rstrip('.')}")
            return None
        least, most = parse_duration(low), parse_duration(high)
        if not least <= found <= most:
            self.complain(key, f"is {value!r}", f"it must be from {_show(least)} to {_show(most)}")
            return None
        return found.total_seconds()

    def listen(self, key: str) -> str:
        """``host:port`` to listen on; empty is off."""
        value = self.text(key)
        problem = address_problem(value) if value else ""
        if problem:
            self.complain(key, problem, "write it as 127.0.0.1:16929 or [::1]:16929")
        return "" if problem else value

    def _take(self, key: str) -> object:
        self._asked.append(key)
        return self.values.get(key)

    def _complain_of_item(self, key: str, number: int, message: str, suggestion: str) -> None:
        self.book.complain((*self.place, key, number), f"{key} of {self.title} {message}", suggestion)


def address_problem(text: str) -> str:
    """What is wrong with a ``host:port``, if anything is."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        return f"is {text!r}, which is not host:port"
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        return f"is {text!r}; an IPv6 address stands in brackets"
    return ""


def _such(example: str) -> str:
    return f"write {example}" if "=" in example else f"such as {example}" if example else ""


def _show(duration: timedelta) -> str:
    return format_duration(duration)

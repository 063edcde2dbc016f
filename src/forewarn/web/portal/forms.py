"""What forms send, as the operator's own bodies: urlencoded text becomes the values that a JSON body would have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from forewarn.web.operator.errors import complaint

MOST_BYTES = 64 * 1024  # 200 values of 256 characters fit
MOST_FIELDS = 200  # a page has 50 rows to choose from, and no form a hundred fields
_URLENCODED = "application/x-www-form-urlencoded"

Given: TypeAlias = Mapping[str, tuple[str, ...]]


class NotRight(Exception):  # noqa: N818 - an answer, not an error
    """A field cannot be accepted: the sentence about it, and the name of the field where that is known."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where


def refuse_other_words(asked: str, names: Sequence[str]) -> None:
    """A word in a filter box that filters nothing would show a person everything: it is better told than ignored."""
    for word in asked.split():
        if word.partition(":")[0] not in names or ":" not in word:
            known = ", ".join(f"{name}:" for name in names)
            raise NotRight(f"'{word[:60]}' filters nothing. Write what is to fit behind one of {known}.", "q")


async def read_form(request: Request) -> Given:
    """The fields of a POST. Only urlencoded forms up to ``MOST_BYTES`` are accepted."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _URLENCODED:
        raise HTTPException(415, f"Send a form ({_URLENCODED})")
    body = await request.body()
    if len(body) > MOST_BYTES:
        raise HTTPException(413, f"The form is larger than {MOST_BYTES // 1024} KiB; choose fewer at a time")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        raise HTTPException(400, f"A form has at most {MOST_FIELDS} fields of readable text") from None
    return gathered(pairs)


def gathered(pairs: Iterable[tuple[str, str]]) -> Given:
    found: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        found[name] = (*found.get(name, ()), value)
    return found


def _text(values: Sequence[str]) -> Any:
    return values[0].strip() or None


def _whole(values: Sequence[str]) -> Any:
    text = values[0].strip()
    if not text:
        return None
    if not text.isascii() or not text.removeprefix("-").isdigit() or len(text) > 20:
        raise ValueError("write a whole number, like 3")
    return int(text)


def _decimal(values: Sequence[str]) -> Any:
    text = values[0].strip()
    try:
        return float(text[:40]) if text else None
    except ValueError:
        raise ValueError("write a number, like 2.5") from None


def _minutes(values: Sequence[str]) -> Any:
    found = _decimal(values)
    return None if found is None else found * 60


def _switch(values: Sequence[str]) -> Any:
    return values[-1] == "on"


def _several(values: Sequence[str]) -> Any:
    return [each.strip() for each in values if each.strip()] or None


def _words(values: Sequence[str]) -> Any:
    return [word for value in values for word in value.replace(",", " ").split()] or None


def _tags(values: Sequence[str]) -> Any:
    found = {}
    for line in filter(str.strip, "\n".join(values).splitlines()):
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise ValueError("write one tag on a line, like team=web")
        found[name.strip()] = value.strip()
    return found or None


# What a kind of field makes of what was typed; None means that nothing was.
_READERS: dict[str, Callable[[Sequence[str]], Any]] = {
    "hidden": _text,
    "names": _several,
    "words": _words,
    "text": _text,
    "choice": _text,
    "whole": _whole,
    "decimal": _decimal,
    "minutes": _minutes,
    "switch": _switch,
    "tags": _tags,
}


@dataclass(frozen=True)
class FormField:
    """One thing that a form asks for. ``name`` is its name in the address; ``key`` that in the operator's body.

    Kinds: ``hidden`` and ``names`` (one and several that were chosen elsewhere), ``words`` (several that are typed, one
    after the other), ``text``, ``whole``, ``decimal``, ``minutes`` (told to the operator in seconds), ``switch``,
    ``choice``, ``tags`` (lines of key=value).
    """

    name: str
    label: str
    kind: str = "text"
    key: str = ""
    hint: str = ""
    choices: tuple[str, ...] = ()
    default: str = ""
    required: bool = False
    longest: int = 256  # of a name, as the operator API has it

    def __post_init__(self) -> None:
        assert self.kind in _READERS, self.kind

    @property
    def shown(self) -> bool:
        """Whether a person fills it in here."""
        return self.kind not in ("hidden", "names")


@dataclass(frozen=True)
class Filled:
    """A form as it was filled in: what was typed, and the values that this means."""

    given: Given
    values: Mapping[str, Any] = field(default_factory=dict)  # by key of the body

    def typed(self, name: str, default: str = "") -> str:
        return self.given.get(name, (default,))[0]

    def all(self, name: str) -> tuple[str, ...]:
        return self.given.get(name, ())

    def body(self, model: type[BaseModel], *but: str) -> Any:
        """The operator's own body, judged by its own rules; ``but`` are values that belong to the path instead."""
        return checked(model, {key: value for key, value in self.values.items() if key not in but})


def fill(fields: Sequence[FormField], given: Given) -> Filled:
    """Parse the fields of a form. Fields that it does not have are dropped, so that no link carries them on."""
    known = {each.name: given[each.name] for each in fields if each.name in given}
    values: dict[str, Any] = {}
    for each in fields:
        try:
            value = _READERS[each.kind](known.get(each.name, (each.default if each.kind != "switch" else "",)))
        except ValueError as problem:
            raise NotRight(f"{each.label}: {problem}.", each.name) from None
        if value is None and each.required:
            raise NotRight(f"{each.label} is missing.", each.name)
        if value is not None and not (each.kind == "switch" and each.name not in given and not value):
            values[each.key or each.name] = value
    return Filled(known, values)


def checked(model: type[BaseModel], values: Mapping[str, Any]) -> Any:
    """The values as the operator's own body, or ``NotRight`` with the sentence of its validation."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as problem:
        found = problem.errors()
        where = str(found[0]["loc"][0]) if found[0]["loc"] else ""
        raise NotRight(complaint([{**each, "loc": ("body", *each["loc"])} for each in found]), where) from None

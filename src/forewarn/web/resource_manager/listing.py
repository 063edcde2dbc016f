"""What lists of resources may be asked for: ``$filter`` and ``$top`` as the service documents them, and nothing else.

A filter of ``/resources`` is made of comparisons (``location``, ``resourceType``, ``name``, ``resourceGroup`` with
``eq`` or ``ne``), of ``substringof('part', name)`` and of tags (``tagName eq 'a' and tagValue eq 'b'``,
``startswith(tagName, 'a')``), joined by ``and``, or by ``or``; not by both. Anything else is refused, not left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

from forewarn.core.region import fold
from forewarn.web.resource_manager.call import FILTER, TOP, Call
from forewarn.web.resource_manager.errors import ArmError, invalid
from forewarn.web.resource_manager.groups.subscriptions import place_name

Document: TypeAlias = dict[str, Any]
Predicate: TypeAlias = Callable[[Document], bool]

_LONGEST = 4_000  # ours: characters of a filter, which stands in an address
_TEXT = r"'((?:[^']|'')*)'"
_COMPARED = re.compile(rf"(location|resourceType|name|resourceGroup)\s+(eq|ne)\s+{_TEXT}", re.IGNORECASE)
_PART = re.compile(rf"substringof\(\s*{_TEXT}\s*,\s*(name|resourceGroup)\s*\)(?:\s+eq\s+true)?", re.IGNORECASE)
_TAG = re.compile(rf"tagName\s+eq\s+{_TEXT}(?:\s+and\s+tagValue\s+eq\s+{_TEXT})?", re.IGNORECASE)
_TAGS_LIKE = re.compile(rf"startswith\(\s*tagName\s*,\s*{_TEXT}\s*\)", re.IGNORECASE)
_STATE = re.compile(rf"provisioningState\s+eq\s+{_TEXT}", re.IGNORECASE)
_JOINT = re.compile(r"\s+(and|or)\s+", re.IGNORECASE)


def first_of(call: Call, documents: Iterable[Document]) -> list[Document]:
    """The first items of a list, as many as ``$top`` says; all without it."""
    text = call.query.get(TOP, "").strip()
    if not text:
        return list(documents)
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) < 10**8):
        raise invalid(TOP, f"'{text[:40]}' is no number of results: {TOP} is a whole number above 0.")
    return list(islice(documents, int(text)))


def of_resources(call: Call) -> Predicate:
    """The ``$filter`` of a list of resources."""
    return _read(call, (_compared, _part, _tag, _tags_like))


def of_groups(call: Call) -> Predicate:
    """The ``$filter`` of a list of resource groups: by a tag."""
    return _read(call, (_tag, _tags_like))


def of_deployments(call: Call) -> Predicate:
    """The ``$filter`` of a list of deployments: by their state."""
    return _read(call, (_state,))


def _read(call: Call, readers: tuple[Callable[[str, int], tuple[Predicate, int] | None], ...]) -> Predicate:
    text = call.query.get(FILTER, "").strip()
    if not text:
        return lambda document: True
    if len(text) > _LONGEST:
        raise not_understood(text)
    predicates, joints, at = [], set[str](), 0
    while True:
        found = next((each for each in (reader(text, at) for reader in readers) if each is not None), None)
        if found is None:
            raise not_understood(text)
        predicates.append(found[0])
        at = found[1]
        if at == len(text):
            break
        joint = _JOINT.match(text, at)
        if joint is None:
            raise not_understood(text)
        joints.add(joint[1].lower())
        at = joint.end()
    if len(joints) > 1:
        raise not_understood(text)
    whole = any if joints == {"or"} else all
    return lambda document: whole(each(document) for each in predicates)


def not_understood(text: str) -> ArmError:
    return invalid(FILTER, f"The filter '{text[:200]}' is none of those that this list can be asked for.")


def _plain(text: str) -> str:
    return text.replace("''", "'")


def _value(document: Document, name: str) -> str:
    if fold(name) == "resourcegroup":
        return str(document["id"]).split("/")[4]
    if fold(name) == "location":
        return place_name(str(document.get("location", "")))
    return str(document.get("type" if fold(name) == "resourcetype" else "name", ""))


def _compared(text: str, at: int) -> tuple[Predicate, int] | None:
    found = _COMPARED.match(text, at)
    if found is None:
        return None
    name, wanted = found[1], _plain(found[3])
    wanted = fold(place_name(wanted) if fold(name) == "location" else wanted)
    equal = found[2].lower() == "eq"
    return lambda document: (fold(_value(document, name)) == wanted) is equal, found.end()


def _part(text: str, at: int) -> tuple[Predicate, int] | None:
    found = _PART.match(text, at)
    if found is None:
        return None
    name, wanted = found[2], fold(_plain(found[1]))
    return lambda document: wanted in fold(_value(document, name)), found.end()


def _tags(document: Document) -> Iterator[tuple[str, str]]:
    tags = document.get("tags") or {}
    return ((fold(str(name)), str(value)) for name, value in tags.items())


def _tag(text: str, at: int) -> tuple[Predicate, int] | None:
    found = _TAG.match(text, at)
    if found is None:
        return None
    name, value = fold(_plain(found[1])), None if found[2] is None else _plain(found[2])
    return lambda document: any(key == name and value in (None, held) for key, held in _tags(document)), found.end()


def _tags_like(text: str, at: int) -> tuple[Predicate, int] | None:
    found = _TAGS_LIKE.match(text, at)
    if found is None:
        return None
    beginning = fold(_plain(found[1]))
    return lambda document: any(key.startswith(beginning) for key, _ in _tags(document)), found.end()


def _state(text: str, at: int) -> tuple[Predicate, int] | None:
    found = _STATE.match(text, at)
    if found is None:
        return None
    wanted = fold(_plain(found[1]))
    return lambda document: fold(str(document["properties"]["provisioningState"])) == wanted, found.end()

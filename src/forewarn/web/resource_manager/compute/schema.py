"""Reading a body against the table of members: what is not in it is refused, what is comes out tidy.

Tidy means: members spelled as the service spells them (callers may use any case), booleans as booleans (``az`` writes
``"true"`` at places), no nulls (a null says nothing), and nothing that only the service writes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from forewarn.web.resource_manager.compute.members import NEWEST, SINCE, TABLE
from forewarn.web.resource_manager.errors import ArmError, invalid

Object: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str | int, ...]

_SERVICE_ONLY = "!"
_SCALE_SET = "VirtualMachineScaleSet"
_TYPE_NAMES = {"VirtualMachineScaleSetVMProfile": "VirtualMachineProfile"}


def _read_table(table: str) -> dict[str, dict[str, tuple[str, str]]]:
    """Object -> folded member -> (member, what it holds)."""
    objects: dict[str, dict[str, tuple[str, str]]] = {}
    members: dict[str, tuple[str, str]] = {}
    for line in table.strip().splitlines():
        if not line.startswith(" "):
            name, _, line = line.partition(":")
            members = objects.setdefault(name, {})
        for entry in line.split():
            member, _, holds = entry.partition("=")
            members[member.lower()] = (member, holds)
    return objects


OBJECTS = _read_table(TABLE)


def read(body: Any, kind: str, api_version: str, label: str) -> Object:
    """``body`` as an object of ``kind``; ``label`` is what the service calls it in the target of an error."""
    if not isinstance(body, dict):
        raise _undeserializable("a JSON object is needed.")
    return _Reader(body, api_version[:10], label).object(body, kind, ())


def without_newer(document: Object, kind: str, api_version: str) -> Object:
    """``document`` as a caller with that api-version may see it, so that it can be put back with the same."""
    version, shown = api_version[:10], {}
    for name, value in document.items():
        _, holds = OBJECTS[kind].get(name.lower(), (name, _SERVICE_ONLY))
        if SINCE.get((kind, name), "") <= version:
            known = holds in OBJECTS and isinstance(value, dict)
            shown[name] = without_newer(value, holds, api_version) if known else value
    return shown


def dotted(path: Path) -> str:
    """``properties.zones[0].name``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


@dataclass(frozen=True)
class _Reader:
    whole: Object
    version: str
    label: str

    def object(self, value: Any, kind: str, path: Path) -> Object:
        if not isinstance(value, dict):
            raise _wrong(path, "an object")
        found: Object = {}
        for written, content in value.items():
            here = (*path, written)
            member = OBJECTS[kind].get(written.lower())
            if member is None:
                if self.version <= NEWEST:
                    self._refuse(kind, here)
                found[written] = content
                continue
            name, holds = member
            if self.version < SINCE.get((kind, name), ""):
                self._refuse(kind, here)
            if holds != _SERVICE_ONLY and content is not None:
                found[name] = self._value(content, holds, here)
        return found

    def _value(self, value: Any, holds: str, path: Path) -> Any:
        if holds.startswith("["):
            return self._list(value, holds[1:-1], path)
        if holds.startswith("{"):
            return self._map(value, holds[1:-1], path)
        if holds in OBJECTS:
            return self.object(value, holds, path)
        return _SCALARS[holds](value, path)

    def _list(self, value: Any, holds: str, path: Path) -> list[Any]:
        if not isinstance(value, list):
            raise _wrong(path, "a list")
        return [self._value(item, holds, (*path, place)) for place, item in enumerate(value) if item is not None]

    def _map(self, value: Any, holds: str, path: Path) -> Object:
        if not isinstance(value, dict):
            raise _wrong(path, "an object")
        return {name: self._value(item, holds, (*path, name)) for name, item in value.items() if item is not None}

    def _refuse(self, kind: str, path: Path) -> NoReturn:
        """In the words of the service's own reader, which counts where it stands in the text."""
        name = path[-1]
        owner = "ResourceDefinition" if len(path) == 1 else _type_name(kind, path)
        where = f"Path '{dotted(path)}', line 1, position {position(self.whole, path)}."
        sentence = f"Could not find member '{name}' on object of type '{owner}'. {where}"
        if len(path) == 1:
            raise _undeserializable(f"'{sentence}'.")
        raise ArmError(400, "BadRequest", sentence, f"{self.label}.{dotted(path)}")


def _undeserializable(why: str) -> ArmError:
    message = f"The request content was invalid and could not be deserialized: {why}"
    return ArmError(400, "InvalidRequestContent", message)


def _type_name(kind: str, path: Path) -> str:
    """The service's own name for the object that a member was looked for in."""
    if len(path) == 2 and str(path[0]).lower() == "properties":
        return "Properties"
    return _TYPE_NAMES.get(kind) or kind.removeprefix(_SCALE_SET) or kind


def position(body: Any, path: Path) -> int:
    """Where a reader stands after the member's name, in the text that the common clients make of ``body``."""
    mark = "\0"
    text = json.dumps(_marked(body, path, mark))
    return text.index(json.dumps(mark)) + len(json.dumps(path[-1])) + 1


def _marked(value: Any, path: Path, mark: str) -> Any:
    """A copy in which the member at the end of the path has another name."""
    here, rest = path[0], path[1:]
    if isinstance(value, list):
        return [_marked(item, rest, mark) if place == here else item for place, item in enumerate(value)]
    if rest:
        return {name: _marked(item, rest, mark) if name == here else item for name, item in value.items()}
    return {mark if name == here else name: item for name, item in value.items()}


# Single values


def _wrong(path: Path, wanted: str) -> ArmError:
    return invalid(dotted(path), f"The value of '{dotted(path)}' must be {wanted}.")


def _text(value: Any, path: Path) -> str:
    if not isinstance(value, str):
        raise _wrong(path, "a string")
    return value


def _boolean(value: Any, path: Path) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise _wrong(path, "true or false")


def _whole_number(value: Any, path: Path) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit() and len(value) < 12:
        return int(value)
    raise _wrong(path, "a whole number")


def _number(value: Any, path: Path) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise _wrong(path, "a number")


def _anything(value: Any, path: Path) -> Any:
    return value


_SCALARS = {"s": _text, "b": _boolean, "i": _whole_number, "n": _number, "*": _anything}

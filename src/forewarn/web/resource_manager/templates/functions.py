"""The functions of templates that depend on nothing but their arguments. Those that look around are in ``plans``."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any

import msgspec

from forewarn.core.guids import derive_guid
from forewarn.web.resource_manager.templates.expressions import LONGEST, TemplateError

_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"


def _bounded(length: int) -> None:
    """Refuse a result that would be too long, before it is made."""
    if length > LONGEST:
        raise TemplateError("A value of the template is too large.")


def _text(value: Any) -> str:
    """A value as ``concat`` and ``string`` write it."""
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _concat(*parts: Any) -> Any:
    if parts and all(isinstance(part, list) for part in parts):
        _bounded(sum(len(part) for part in parts))
        return [each for part in parts for each in part]
    texts = [_text(part) for part in parts]
    _bounded(sum(len(text) for text in texts))
    return "".join(texts)


def _format(pattern: str, *values: Any) -> str:
    texts = [_text(value) for value in values]
    _bounded(len(pattern) + pattern.count("{") * max((len(text) for text in texts), default=0))
    _bounded(len(pattern) * len(texts))
    for place, text in enumerate(texts):
        pattern = pattern.replace(f"{{{place}}}", text)
    return pattern


def _replace(text: str, old: str, new: str) -> str:
    _bounded(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def _join(values: list[Any], separator: str) -> str:
    texts = [_text(value) for value in values]
    _bounded(sum(len(text) + len(separator) for text in texts))
    return separator.join(texts)


def _split(text: str, separators: str | list[str]) -> list[str]:
    first, *others = [separators] if isinstance(separators, str) else separators
    _bounded(len(text) * len(others))
    for other in others:
        text = _replace(text, other, first)
    return text.split(first)


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(whole, dict):
        return str(part).lower() in (key.lower() for key in whole)
    return part in whole


def _substring(text: str, start: int, length: int | None = None) -> str:
    end = len(text) if length is None else start + length
    if not 0 <= start <= end <= len(text):
        raise ValueError("outside of the text")
    return text[start:end]


def _union(*parts: Any) -> Any:
    if all(isinstance(part, dict) for part in parts):
        return {key: value for part in parts for key, value in part.items()}
    found: dict[str, Any] = {}
    for part in parts:
        for each in part:
            found.setdefault(_text([each]), each)
    return list(found.values())


def _range(start: int, count: int) -> list[int]:
    if not 0 <= count <= 10_000:
        raise ValueError("a range holds at most 10000 numbers")
    return list(range(start, start + count))


def _unique_string(*seeds: str) -> str:
    digest = hashlib.sha256("|".join(seeds).encode()).digest()
    return "".join(_BASE32[byte % 32] for byte in digest[:13])


def _create_object(*parts: Any) -> dict[str, Any]:
    return {str(key): value for key, value in zip(parts[::2], parts[1::2], strict=True)}


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        raise ValueError("not JSON") from None


def _boolean(value: Any) -> bool:
    return value.lower() in ("true", "1") if isinstance(value, str) else bool(value)


def _equals(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: int(a) + int(b),
    "and": lambda *values: all(values),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "bool": _boolean,
    "coalesce": _coalesce,
    "concat": _concat,
    "contains": _contains,
    "createarray": lambda *values: list(values),
    "createobject": _create_object,
    "div": lambda a, b: int(a) // int(b),
    "empty": lambda value: not value,
    "endswith": lambda text, part: text.lower().endswith(part.lower()),
    "equals": _equals,
    "false": lambda: False,
    "first": lambda value: value[0],
    "format": _format,
    "greater": lambda a, b: a > b,
    "greaterorequals": lambda a, b: a >= b,
    "guid": lambda *seeds: derive_guid("|".join(seeds), "guid").lower(),
    "int": int,
    "join": _join,
    "json": _json,
    "last": lambda value: value[-1],
    "length": len,
    "less": lambda a, b: a < b,
    "lessorequals": lambda a, b: a <= b,
    "max": lambda *values: max(values[0] if isinstance(values[0], list) else values),
    "min": lambda *values: min(values[0] if isinstance(values[0], list) else values),
    "mod": lambda a, b: int(a) % int(b),
    "mul": lambda a, b: int(a) * int(b),
    "not": lambda value: not value,
    "null": lambda: None,
    "or": lambda *values: any(values),
    "range": _range,
    "replace": _replace,
    "skip": lambda value, count: value[max(count, 0) :],
    "split": _split,
    "startswith": lambda text, part: text.lower().startswith(part.lower()),
    "string": _text,
    "sub": lambda a, b: int(a) - int(b),
    "substring": _substring,
    "take": lambda value, count: value[: max(count, 0)],
    "tolower": str.lower,
    "toupper": str.upper,
    "trim": str.strip,
    "true": lambda: True,
    "union": _union,
    "uniquestring": _unique_string,
}

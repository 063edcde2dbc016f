"""Facts as JSON, which people can read with any tool.

Every stored fact carries the number of the format it was written in. A reader upcasts an older fact, one format at a
time, until it is a fact of today. A fact in a newer format is refused, never guessed at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, get_args

import msgspec

from forewarn import __version__
from forewarn.core.facts import FORMAT, Fact
from forewarn.plane.ports import JournalFault

Upcast: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


def unchanged(stored: dict[str, Any]) -> dict[str, Any]:
    """The upcast to a format that only added kinds and fields: what was written before it is read as it is."""
    return stored


# From the format in the key to the next one. Each gets the stored object, its kind under "fact", and may change it.
# 2: facts mean more than they did (docs/decisions, rows 38 to 42), so a forewarn that knows 1 must not go on from them.
UPCASTS: dict[int, Upcast] = {1: unchanged}

KINDS = frozenset(kind.__name__ for kind in get_args(Fact))

_UNREADABLE = (msgspec.DecodeError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Fact] = msgspec.json.Decoder(Fact)
_objects: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


def encode(fact: Fact) -> bytes:
    """The fact in the current format."""
    return _encoder.encode(fact)


def decode(seq: int, written: int, body: bytes, upcasts: Mapping[int, Upcast] = UPCASTS) -> Fact:
    """The fact of record ``seq``, whose ``body`` was written in the format ``written``."""
    if written > FORMAT:
        raise JournalFault(newer_format(f"Record {seq} of the journal", written, FORMAT))
    try:
        if all(upcasts.get(step) is unchanged for step in range(written, FORMAT)):
            return _decoder.decode(body)
        # Msgspec types a union of facts as Any
        return msgspec.convert(_lift(seq, written, body, upcasts), Fact)  # type: ignore[no-any-return]
    except _UNREADABLE as flaw:
        raise JournalFault(_unreadable(seq, body, flaw)) from flaw


def newer_format(what: str, written: int, known: int, by: str = "") -> str:
    """The sentence for anything that only a newer forewarn can read."""
    wanted = f"forewarn {by}" if by else "a newer forewarn"
    return (
        f"{what} was written in format {written} by {wanted}; this is forewarn {__version__}, which reads formats up "
        f"to {known}. Install {wanted}{' or later' if by else ''}; the journal was not touched."
    )


def _lift(seq: int, written: int, body: bytes, upcasts: Mapping[int, Upcast]) -> dict[str, Any]:
    found = _objects.decode(body)
    for step in range(written, FORMAT):
        if step not in upcasts:
            raise JournalFault(
                f"Record {seq} of the journal is in format {written}, which forewarn {__version__} no longer reads. "
                "Start an older forewarn on it; the journal was not touched."
            )
        found = upcasts[step](found)
    return found


def _unreadable(seq: int, body: bytes, flaw: Exception) -> str:
    try:
        kind = _objects.decode(body).get("fact")
    except _UNREADABLE:
        kind = None
    if isinstance(kind, str) and kind not in KINDS:
        return (
            f"Record {seq} of the journal holds a fact of the kind {kind[:40]!r}, which forewarn {__version__} does "
            "not know. Install the forewarn that wrote it, or a newer one; the journal was not touched."
        )
    return (
        f"Record {seq} of the journal is damaged ({str(flaw)[:200]}). Restore the journal from a backup; it was "
        "not touched."
    )

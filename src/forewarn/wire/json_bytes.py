"""JSON as the service writes it, and a reader that answers everything it cannot read with a sentence."""

from __future__ import annotations

import json
from typing import NoReturn

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class WireError(ValueError):
    """Bytes or text that do not mean what they should. The message is a sentence that may be shown to their sender."""


def write_json(value: object) -> bytes:
    """Compact UTF-8, keys in the order given. A lone surrogate, which no byte can carry, becomes a question mark."""
    return _ENCODER.encode(value).encode("utf-8", "replace")


def read_json(body: bytes) -> object:
    """What the bytes say. Decoded by hand as UTF-8, since the standard reader would also guess at UTF-16 and UTF-32."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WireError(f"The body is not UTF-8 (byte {error.start}).") from None
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except WireError:
        raise
    except RecursionError:
        raise WireError("The body is nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise WireError(f"The body is not JSON (line {error.lineno}, column {error.colno}).") from None
    except ValueError:  # a number of more digits than Python will convert
        raise WireError("The body has a number that is too long.") from None


def _refuse_constant(name: str) -> NoReturn:
    raise WireError(f"The body is not JSON: it has the number {name}.")

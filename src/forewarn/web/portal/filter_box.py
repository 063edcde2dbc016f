"""The filter box: words like ``power:stopped ud:2`` and a part of a name, as the parameters of the operator API."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import ValidationError

from forewarn.core.refusal import Hint, Refused
from forewarn.web.operator.errors import complaint
from forewarn.web.operator.schema.requests import Page

_PAGING = ("after", "limit")

P = TypeVar("P", bound=Page)


def read_filter(text: str, page: type[P], **more: Any) -> P:
    """What the words ask for, with what else the address says. A word that makes no sense is refused by a sentence."""
    asked: dict[str, Any] = {}
    for word in text.split():
        key, colon, value = word.partition(":")
        name = key.lower() if colon else "name"
        if name not in page.model_fields or name in _PAGING:
            words = ", ".join(f"{each}:" for each in page.model_fields if each not in _PAGING)
            raise Refused(Hint.INVALID, f"There is no filter '{key}:'; there are {words}, or write a part of a name.")
        if name in asked:
            raise Refused(Hint.INVALID, f"The filter '{name}' stands there twice; one of them is enough.")
        asked[name] = value if colon else word
    try:
        return page.model_validate({**more, **asked})
    except ValidationError as problem:
        found = [{**error, "loc": ("filter", *error["loc"])} for error in problem.errors()]
        raise Refused(Hint.INVALID, complaint(found)) from None

"""Which handler answers which path. Paths are compared without case; double slashes count as one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace

from forewarn.web.resource_manager.call import EXPAND, FILTER, TOP, ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.errors import ArmError

Handler = Callable[[ArmDesk, Call], Awaitable[ArmReply]]


@dataclass(frozen=True)
class _Route:
    segments: tuple[str, ...]  # in lower case; {name} is open, a last {name*} takes all that is left
    method: str
    handler: Handler
    answers_to: frozenset[str]
    expands: frozenset[str] | None  # in lower case; None where it is all the same


class Router:
    """Routes in the order of their making: the first that fits answers."""

    def __init__(self) -> None:
        self._routes: list[_Route] = []

    def add(
        self,
        method: str,
        pattern: str,
        handler: Handler,
        answers_to: Collection[str] = (),
        expands: Collection[str] | None = None,
    ) -> None:
        """``pattern`` is like /subscriptions/{subscription}/resourceGroups/{group}.

        ``answers_to`` names those of ``$filter`` and ``$top`` that the handler looks at; a call with another is
        refused: who asks for some of a list and is given all of it would take the rest for what it asked for.
        ``expands`` names what ``$expand`` may ask for, where the handler looks at that.
        """
        segments = tuple(part if part.startswith("{") else part.lower() for part in pattern.strip("/").split("/"))
        more = None if expands is None else frozenset(each.lower() for each in expands)
        self._routes.append(_Route(segments, method, handler, frozenset(answers_to), more))

    def knows(self, path: str) -> bool:
        """Whether some route fits the path, whatever its method."""
        segments = [part for part in path.split("/") if part]
        return any(_match(route.segments, segments) is not None for route in self._routes)

    async def answer(self, desk: ArmDesk, call: Call) -> ArmReply:
        """The answer of the first route that fits; an ``ArmError`` where there is none."""
        segments = [part for part in call.path.split("/") if part]
        known_path = False
        for route in self._routes:
            names = _match(route.segments, segments)
            if names is None:
                continue
            if route.method == call.method:
                _check_selection(call, route)
                return await route.handler(desk, replace(call, names=names))
            known_path = True
        if known_path:
            raise ArmError(405, "MethodNotAllowed", f"The method {call.method} is not supported for this resource.")
        raise ArmError(404, "NotFound", f"There is nothing at '{call.path}'.")


def _check_selection(call: Call, route: _Route) -> None:
    for name in (FILTER, TOP):
        if call.query.get(name, "").strip() and name not in route.answers_to:
            message = f"The query parameter '{name}' is not supported for this resource."
            raise ArmError(400, "InvalidQueryParameter", message, name)
    asked = {part.strip().lower() for part in call.query.get(EXPAND, "").split(",")} - {""}
    if route.expands is not None and (unknown := asked - route.expands):
        message = f"'{min(unknown)[:80]}' is none of what '{EXPAND}' can show of this resource."
        raise ArmError(400, "InvalidQueryParameter", message, EXPAND)


def _match(pattern: tuple[str, ...], segments: list[str]) -> dict[str, str] | None:
    names: dict[str, str] = {}
    for place, part in enumerate(pattern):
        if part.endswith("*}"):
            names[part[1:-2]] = "/".join(segments[place:])
            return names if len(segments) > place else None
        if place >= len(segments):
            return None
        if part.startswith("{"):
            names[part[1:-1]] = segments[place]
        elif part != segments[place].lower():
            return None
    return names if len(segments) == len(pattern) else None

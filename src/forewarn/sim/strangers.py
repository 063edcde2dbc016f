"""Programs of users that ask by hand: old api-versions, the same bytes again and again, and what is forbidden.

They are no part of the fleet's care: nothing depends on them, and whatever they are answered is judged.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from dataclasses import dataclass
from random import Random

from forewarn.guest.http1 import BadResponse, OutgoingRequest, Response, ResponseReader
from forewarn.sim.fabric.loop import PLACE
from forewarn.sim.machines import Machine
from forewarn.sim.nodes import METADATA
from forewarn.sim.oracle import API_VERSIONS
from forewarn.sim.world import World

_EVERY_SECONDS = 500.0  # ours: between two visits, where there are 200 VMs
_PAUSE_SECONDS = 400.0  # ours: between two questions of one visit; beyond the face's idle_seconds at times
_MOST_QUESTIONS = 12  # on one connection: enough for keep-alive and pipelining to matter
_ANSWER_SECONDS = 60.0  # longer than any fault holds an answer back
_TRIES = 0.35  # ours: so often a visit is for something forbidden
_METADATA = (("Metadata", "true"),)


@dataclass(frozen=True, slots=True)
class _Try:
    """Something that must not succeed."""

    what: str
    request: OutgoingRequest


class Strangers:
    """Visits by programs that are no agents; some visits last for many questions."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = world.random("strangers")
        self._numbers: dict[str, list[int]] = {}  # documents that a VM has seen in this way

    async def live(self) -> None:
        """Runs until its task is canceled."""
        pause = _EVERY_SECONDS * (200 / self._world.plan.vms) ** 0.5 / self._world.plan.pace
        while True:
            await asyncio.sleep(self._random.expovariate(1 / pause))
            machines = [each for _, each in sorted(self._world.machines.items()) if _is_there(each)]
            untold = [each for each in machines if self._is_untold(each)]
            if machines:
                found = untold if untold and self._random.random() < 0.5 else machines
                machine, chance = self._random.choice(found), Random(self._random.random())
                context = contextvars.copy_context()
                context.run(PLACE.set, machine.key)
                self._world.loop.create_task(self._visit(machine, chance), context=context)

    def _is_untold(self, machine: Machine) -> bool:
        """Whether an event is ahead of the VM that no answer has shown it yet."""
        memory = self._world.judge.oracle.memory
        return any(work.pending and not work.shown for work in memory.of(machine.key))

    async def _visit(self, machine: Machine, chance: Random) -> None:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                streams = await asyncio.open_connection(*METADATA)
        except OSError:
            return
        try:
            if chance.random() < _TRIES:
                await self._try(machine, streams, self._forbidden(machine, chance))
            else:
                await self._poll(machine, streams, chance)
        except (OSError, BadResponse):
            pass
        finally:
            streams[1].close()

    # Reading

    async def _poll(
        self, machine: Machine, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], chance: Random
    ) -> None:
        """The same words over one connection, so that the service may answer from what it has at hand."""
        words = _read(chance.choice(API_VERSIONS), self._condition(machine, chance))
        for _ in range(chance.randint(2, _MOST_QUESTIONS)):
            asked_at = self._world.ticks()
            response = await _ask(machine, streams, words)
            if not _is_there(machine):
                return
            self._world.judge.eyes.saw(machine.key, words, response, asked_at)
            if response.status == 200 and response.body:
                number = json.loads(response.body)["DocumentIncarnation"]
                self._numbers.setdefault(machine.key, []).append(number)
            if not response.reusable:
                return
            await asyncio.sleep(chance.expovariate(1 / _PAUSE_SECONDS))
            if not _is_there(machine):
                return

    def _condition(self, machine: Machine, chance: Random) -> str:
        """Now and then what it has seen before, the latest or something older; bare, as Microsoft's sample sends it."""
        seen = self._numbers.get(machine.key, [])
        if not seen or chance.random() < 0.5:
            return ""
        number = seen[-1] if chance.random() < 0.7 else chance.choice(seen)
        return f'"{number}"' if chance.random() < 0.7 else str(number)

    # Trying

    def _forbidden(self, machine: Machine, chance: Random) -> _Try:
        others = [work.id for work in self._world.judge.oracle.memory.works.values() if machine.key not in work.victims]
        scope = self._world.history.homes[machine.key].scope
        foreign = [each for each in others if self._world.judge.oracle.memory.works[each].scope != scope]
        ended = [*self._world.judge.eyes.endings][-20:]
        tries = [
            _Try("to read without the header", OutgoingRequest("GET", _target(API_VERSIONS[-1]))),
            _Try("a version that never was", OutgoingRequest("GET", _target("2018-01-01"), _METADATA)),
            _Try("a body that is none", _approval(b"{")),
            _Try("a body of another kind", _approval(b'{"StartRequests":[{"EventID":"x"}]}')),
            _Try("an approval of nothing that ever was", _approval(_body("00000000-0000-0000-0000-000000000000"))),
        ]
        tries += [_Try("to approve another scope's event", _approval(_body(each))) for each in foreign[:5] * 2]
        tries += [_Try("to approve what has ended", _approval(_body(each))) for each in ended[-2:]]
        return chance.choice(tries)

    async def _try(
        self, machine: Machine, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], attempt: _Try
    ) -> None:
        response = await _ask(machine, streams, attempt.request)
        self._world.judge.eyes.tried(machine.key, attempt.what, attempt.request, response)


def _is_there(machine: Machine) -> bool:
    """Whether a user of this VM would ask."""
    return machine.on and not machine.hushed


def _target(version: str) -> str:
    return f"/metadata/scheduledevents?api-version={version}"


def _read(version: str, condition: str) -> OutgoingRequest:
    return OutgoingRequest(
        "GET", _target(version), (*_METADATA, ("If-None-Match", condition)) if condition else _METADATA
    )


def _approval(body: bytes) -> OutgoingRequest:
    return OutgoingRequest("POST", _target(API_VERSIONS[-1]), _METADATA, body)


def _body(event_id: str) -> bytes:
    return json.dumps({"StartRequests": [{"EventId": event_id}]}).encode()


async def _ask(
    machine: Machine, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], request: OutgoingRequest
) -> Response:
    incoming, outgoing = streams
    reader = ResponseReader()
    async with asyncio.timeout(_ANSWER_SECONDS):
        outgoing.write(request.encode(METADATA[0], f"/vm/{machine.name}"))
        await outgoing.drain()
        while (response := reader.feed(await incoming.read(65_536))) is None:
            pass
    return response

"""The parts of a region, running together: journal in memory, plane, metadata face on a free port."""

from __future__ import annotations

import itertools
from datetime import datetime

from forewarn.core.commands import Command, Pulse
from forewarn.core.facts import EventBornStarted, EventScheduled, Fact
from forewarn.core.looking.story import remembered
from forewarn.core.refusal import Missing, Refused
from forewarn.core.region import Event, Vm, fold
from forewarn.core.region import Region as State
from forewarn.core.rules import Rules
from forewarn.engines.simulated import SimulatedEngine
from forewarn.plane.clock import TurnableClock
from forewarn.plane.ports import Origin, Record
from forewarn.server.assembly import Parts, assemble
from forewarn.stores.memory import MemoryJournal
from forewarn.testing.asked import FoldedRequests
from forewarn.testing.loop import LoopThread
from forewarn.testing.one_off import OneOffs
from forewarn.web.faults import FaultRules
from forewarn.web.metadata.settings import MetadataSettings
from forewarn.web.operator.near import did_you_mean
from forewarn.web.seen import LookingOn

OPERATOR = Origin("operator")
_ALL = 1_000_000_000  # more records than a journal in memory can hold


class RunningRegion:
    """Everything lives on the loop of one thread; these methods may be called from any other."""

    def __init__(self, start: datetime, rules: Rules, metadata: MetadataSettings, engine: SimulatedEngine) -> None:
        self.loop = LoopThread()
        self.faults = FaultRules()
        self.one_offs = OneOffs(rules, engine)
        self.number = itertools.count(1).__next__  # tells what was noted first, where no fact came between
        self.asked = FoldedRequests(self.number)
        self._journal = MemoryJournal()
        try:
            self.loop.run(self._open(start, metadata))
        except BaseException:
            self.loop.close()
            raise

    async def _open(self, start: datetime, metadata: MetadataSettings) -> None:
        server = await assemble(
            Parts(
                journal=self._journal,
                clock_from=lambda _: TurnableClock(start),
                engine=self.one_offs,
                rules=self.one_offs.rules,
                metadata=metadata,
                faults=self.faults,
                onlooker=LookingOn(self.asked.note),
            )
        )
        self.plane, self._face = server.plane, server.metadata_face()
        await self.plane.start()
        await self._face.start("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._face.port}"

    def close(self) -> None:
        self.loop.run(self._shut())
        self.loop.close()

    async def _shut(self) -> None:
        await self._face.close()
        await self.plane.close()

    # What a handle needs

    @property
    def state(self) -> State:
        return self.plane.region

    def now(self) -> datetime:
        return self.plane.now()

    def submit(self, command: Command, origin: Origin = OPERATOR) -> tuple[Fact, ...]:
        """Refusals come out as ``forewarn.core.refusal.Refused``, with a sentence; then nothing has changed."""
        return self.loop.run(self._submit(command, origin))

    async def _submit(self, command: Command, origin: Origin) -> tuple[Fact, ...]:
        try:
            facts = await self.plane.submit(command, origin)
        except Refused as refused:
            hint = did_you_mean(self.state, refused.missing) if refused.missing else ""
            raise Refused(refused.hint, f"{refused.message}{hint}", refused.missing) from None
        await self._settle()
        return facts

    def settle(self) -> int:
        """Wait until all that has happened is in the journal, impacts included; how far that goes."""
        self.loop.run(self._settle())
        return self.plane.seq

    async def _settle(self) -> None:
        """Submit a command that asks for nothing.

        The writer takes it when all that followed from the one before is written.
        """
        await self.plane.submit(Pulse(()), OPERATOR)

    def records(self) -> list[Record]:
        return self._journal.read(0, _ALL)

    def vm(self, name: str) -> Vm:
        found = self.state.vms.get(fold(name))
        if found is None:
            hint = did_you_mean(self.state, Missing("VM", name))
            raise LookupError(f"there is no VM named '{name}' in the region, or it was deleted.{hint}".rstrip("."))
        return found

    def event(self, event_id: str) -> Event:
        """The event as it is, or as it was when it ended."""
        found = remembered(record.fact for record in self._journal.about(event_id, _ALL))
        assert found is not None, f"the journal knows no event {event_id}"
        return found


def made(facts: tuple[Fact, ...]) -> list[Event]:
    """The events that a command led to."""
    return [fact.event for fact in facts if isinstance(fact, EventScheduled | EventBornStarted)]

"""Read models of the published region for lists and counts, made in portions so that the loop is not held up for long.

Nothing is made before the first request. From then on publications are noted, which costs next to nothing, and applied
at the next request. Where none comes for very many facts, the models are dropped, or kept up once if they are larger.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

from forewarn.core.region import Region
from forewarn.plane.ports import Published, Record
from forewarn.plane.read_models.making import Models, Steps, made, moved, steps_of
from forewarn.plane.read_models.touched import Touched

_VERY_MANY = 100_000  # ours: things to put in order; a search for garbage among fewer takes a few milliseconds
PORTION_SECONDS = 0.003  # ours, of the loop's time at once: a read in between waits for so long
_NOTED_AT_ONCE = 500  # ours: records of a publication that one step goes through, less than a millisecond
_UNASKED_MOST = 20_000  # ours: facts noted for the next request; after more, making the models anew costs less


class ReadModels:
    """Register and census of the published region. All of it belongs to one loop."""

    def __init__(self, published: Published, elapsed: Callable[[], float]) -> None:
        self._published = published
        self._elapsed = elapsed
        self._models: Models | None = None
        self._noted: list[Sequence[Record]] = []  # publications since the models, or since they were begun
        self._noted_seq = 0
        self._noted_total = 0
        self._asked = False
        self._life = 0  # grows when everything is let go of
        self._leave: Callable[[], None] | None = None
        self._working: asyncio.Task[None] | None = None
        self._steps_done = self._steps_total = 0

    @property
    def share(self) -> float:
        """How much of them is made, from 0 to 1."""
        if self._models is not None:
            return 1.0
        return min(self._steps_done / self._steps_total, 0.99) if self._steps_total else 0.0

    @property
    def latest(self) -> Models | None:
        """As they were last taken up, perhaps some records ago; None where they are yet to be made."""
        return self._models

    async def at_hand(self, patience_seconds: float | None = None) -> Models | None:
        """Those of a region that knows at least what is published now; None where that takes longer to make."""
        self._asked, wanted = True, self._published.seq
        try:
            async with asyncio.timeout(patience_seconds):
                while self._models is None or self._models.seq < wanted:
                    await asyncio.shield(self._work())
        except TimeoutError:
            return None
        return self._models

    def let_go(self) -> None:
        """Drop the models: the next request makes them anew."""
        if self._leave is not None:
            self._leave()
        self._models = self._leave = None
        self._noted, self._noted_total = [], 0
        self._life += 1

    async def close(self) -> None:
        """Let go, and leave no work behind."""
        self.let_go()
        if self._working is not None:
            await self._working

    def _work(self) -> asyncio.Task[None]:
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._take_up())
        return self._working

    async def _take_up(self) -> None:
        """Make the models, or apply the noted publications, up to what is published now."""
        life, region, seq = self._life, self._published.region, self._published.seq
        if self._models is None:
            self._begin(seq)
            self._steps_done, self._steps_total = 0, steps_of(region)
            steps = made(region, seq)
        else:
            steps = _taken_up(self._models, region, seq, self._noted)
            self._noted, self._noted_total = [], 0
        with _collector_at_rest(region) if self._models is None else nullcontext():
            models = await self._in_portions(steps, life)
        if life == self._life:
            self._models = models

    def _begin(self, seq: int) -> None:
        """From here on every publication is noted."""
        if self._leave is None:
            self._leave = self._published.subscribe(self._note)
        self._noted, self._noted_total, self._noted_seq = [], 0, seq

    def _note(self, _region: Region, records: Sequence[Record]) -> None:
        if not records:
            return
        if records[0].seq != self._noted_seq + 1:
            self.let_go()  # not the next ones: what is known may have been replaced
            return
        self._noted.append(records)
        self._noted_seq = records[-1].seq
        self._noted_total += len(records)
        if self._noted_total > _UNASKED_MOST:
            self._consider()

    def _consider(self) -> None:
        """Keep the models up without a request if there was one lately, else drop them.

        Where fewer things are there than facts were noted, making the models anew costs less: then drop them too.
        """
        if self._working is not None and not self._working.done():
            return
        asked, self._asked = self._asked, False
        if asked and _things_of(self._published.region) > self._noted_total:
            self._work()
        else:
            self.let_go()

    async def _in_portions(self, steps: Steps[Models], life: int) -> Models | None:
        """Run all steps, yielding to the loop every few milliseconds. None where the models were dropped meanwhile."""
        until = self._elapsed() + PORTION_SECONDS
        while life == self._life:
            try:
                next(steps)
            except StopIteration as end:
                models: Models = end.value
                return models
            self._steps_done += 1
            if self._elapsed() >= until:
                await asyncio.sleep(0)
                until = self._elapsed() + PORTION_SECONDS
        return None


@contextmanager
def _collector_at_rest(region: Region) -> Iterator[None]:
    """While very many keys are put in order, which all stay: one search for garbage among them takes 100 ms."""
    if not gc.isenabled() or _things_of(region) < _VERY_MANY:
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _things_of(region: Region) -> int:
    """How many there are to be put in order."""
    return len(region.vms) + len(region.events)


def _taken_up(models: Models, region: Region, seq: int, noted: Sequence[Sequence[Record]]) -> Steps[Models]:
    touched = Touched()
    for records in noted:
        for first in range(0, len(records), _NOTED_AT_ONCE):
            touched.note(records[first : first + _NOTED_AT_ONCE], models.region, region)
            yield
    return (yield from moved(models, region, seq, touched))

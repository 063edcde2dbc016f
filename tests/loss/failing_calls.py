"""Every call that a durable file needs fails once, or from then on; then the process dies, or the power goes.

``python -m tests.loss.failing_calls NAME SCRATCH IMAGES MOST``, under ``watched_disk.c``, tells what was wrong as lines
of JSON, and at last how much was tried. Everything happens in one process, and a death is a copy of the directory. In
each case the power is lost IMAGES times; after MOST faults it is enough.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from tests.loss.disk_model import DiskModel
from tests.loss.durables import DURABLES, Durable, Refused, Uncertain
from tests.loss.sabotage import commit_it
from tests.loss.watched_disk import Call, How, WatchedDisk, read_deeds

_BEFORE, _DURING, _AFTER = range(3), range(3, 7), range(7, 9)
_LAST = 9
_MOST = 12  # of one kind of call that fail in turn
_CALLS = (Call.OPEN, Call.WRITE, Call.TRUNCATE, Call.SYNC, Call.CLOSE, Call.RENAME, Call.UNLINK, Call.MKDIR)


@dataclass(frozen=True)
class Case:
    """What fails: the call of its kind after so many, and how."""

    call: Call
    after: int
    how: How
    error: int
    times: int

    def __str__(self) -> str:
        lasts = "from then on" if self.times < 0 else "once"
        how = f"{errno.errorcode[self.error]}, {self.how.name}"
        return f"{self.call.name.lower()} {self.after + 1} fails {lasts} ({how})"


@dataclass
class Told:
    """What the caller heard of each change, and when."""

    ok: dict[int, float] = field(default_factory=dict)
    refused: dict[int, float] = field(default_factory=dict)

    def wrong(self, found: list[int], durable: type[Durable], before: float = float("inf")) -> Iterator[str]:
        if found != sorted(set(found)):
            yield f"the order is {found}"
        if lost := sorted(number for number, at in self.ok.items() if at < before and number not in found):
            yield f"lost: {lost}, of {found}"
        if not durable.whole:
            back = sorted(number for number, at in self.refused.items() if at < before and number in found)
            if back:
                yield f"returned: {back}"


class Trial:
    """One durable thing, tried in one directory after the other."""

    def __init__(self, name: str, scratch: Path, images: int) -> None:
        self.images = images
        self.durable = DURABLES[name]
        self.root = Path(os.environ["WATCHED_DISK"]).resolve()
        self.scratch = scratch
        self.record = Path(os.environ["WATCHED_DISK_RECORD"])
        self.disk = WatchedDisk(self.root, self.record, Path(os.environ["WATCHED_DISK_RULES"]))
        self.tried: Counter[str] = Counter()

    def cases(self) -> Iterator[Case]:
        """As many of each kind of call as a faultless run makes."""
        self.forget()
        told = Told()
        self.live(told, None)
        made = Counter(deed.call for deed in read_deeds(self.record))
        for call, after in product(_CALLS, range(_MOST)):
            if after >= made[call]:
                continue
            once = Case(call, after, How.FAIL, errno.EIO, 1)
            lasting = Case(call, after, How.FAIL, errno.ENOSPC, -1)
            if self.durable.whole:  # nothing builds on what was there: either of the two will do
                yield once if after % 2 else lasting
            else:
                yield from (once, lasting)
            if call is Call.WRITE:
                yield Case(call, after, How.HALF, errno.ENOSPC, 1)

    def forget(self) -> None:
        """An empty directory, and a record that begins with it."""
        for path in self.root.iterdir():
            shutil.rmtree(path)
        os.truncate(self.record, 0)

    def live(self, told: Told, case: Case | None) -> Durable | None:
        """Changes before, while and after calls fail; the thing that is still open, if it is."""
        opened = self.durable(self.root)
        for number in _BEFORE:
            self.change(opened, number, told)
        opened.close()
        with ExitStack() as stack:
            if case is not None:
                strike = self.disk.striking(
                    case.call, how=case.how, error=case.error, after=case.after, times=case.times
                )
                stack.enter_context(strike)
            try:
                opened = self.durable(self.root)
            except (Refused, Uncertain):
                return None
            for number in _DURING:
                self.change(opened, number, told)
        return opened

    def change(self, opened: Durable, number: int, told: Told) -> None:
        try:
            opened.change(number)
        except Refused:
            told.refused[number] = time.monotonic()
        except Uncertain:
            pass
        else:
            told.ok[number] = time.monotonic()

    def wrong(self, case: Case) -> Iterator[str]:
        """All that is wrong when this fails."""
        self.forget()
        told = Told()
        opened = self.live(told, case)
        self.tried["cases"] += 1
        yield from (f"killed at once: {what}" for what in self.of_death(told))
        if opened is not None:
            for number in _AFTER:
                self.change(opened, number, told)
            yield from (f"killed when it was healed: {what}" for what in self.of_death(told))
            with suppress(OSError):
                opened.close()
        yield from (f"started anew: {what}" for what in self.of_new_start(told))
        yield from (f"power lost: {what}" for what in self.of_power(told, random.Random(repr(case))))

    def of_death(self, told: Told) -> Iterator[str]:
        image = self.scratch / "killed"
        shutil.copytree(self.root, image)
        yield from self.of_image(image, told, float("inf"))

    def of_image(self, image: Path, told: Told, before: float) -> Iterator[str]:
        try:
            found = self.durable.look(image)
        except Exception as fault:
            yield f"it does not start: {type(fault).__name__}: {fault}"
        else:
            yield from told.wrong(found, self.durable, before)
        finally:
            shutil.rmtree(image)

    def of_new_start(self, told: Told) -> Iterator[str]:
        """Whatever it was: with a healthy disk it goes on, and all is there."""
        try:
            opened = self.durable(self.root)
            opened.change(_LAST)
            told.ok[_LAST] = time.monotonic()
            opened.close()
        except Exception as fault:
            yield f"{type(fault).__name__}: {fault}"
        yield from self.of_death(told)

    def of_power(self, told: Told, chance: random.Random) -> Iterator[str]:
        deeds = [*read_deeds(self.record)]
        model, done = DiskModel(str(self.root)), 0
        for place in sorted(chance.randrange(len(deeds) - 1) for _ in range(self.images)):
            for deed in deeds[done : place + 1]:
                model.do(deed)
            done = place + 1
            image = self.scratch / "image"
            image.mkdir()
            model.image(image, chance)
            self.tried["cuts"] += 1
            yield from (f"after deed {place}: {what}" for what in self.of_image(image, told, deeds[place + 1].at))


def main() -> None:
    name, scratch, images, most = sys.argv[1:]
    commit_it()
    trial = Trial(name, Path(scratch), int(images))
    for case in trial.cases():
        for what in trial.wrong(case):
            trial.tried["wrong"] += 1
            print(json.dumps({"case": str(case), "wrong": what}), flush=True)
        if trial.tried["wrong"] >= int(most):
            break
    print(json.dumps(trial.tried))


if __name__ == "__main__":
    main()

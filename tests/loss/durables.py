"""Everything that forewarn writes and relies on later, each behind the same four words: open, change, close, look.

A change has a number. ``look`` opens what was left in a directory as a new start would, and answers with the numbers
that it finds. What cannot be opened raises; a ``Refused`` change must never be found, an ``Uncertain`` one may.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar, Protocol

from cryptography import x509

from forewarn.cli.commands import az_env
from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.folding.evolve import evolve
from forewarn.core.region import Region
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.core.step import step
from forewarn.durable import make_directory
from forewarn.guest.agent.deciding.state import Begun, StepOutcome
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.programs import Receipts
from forewarn.guest.agent.keeping import journal as agent_journal
from forewarn.guest.agent.steps.kind import Task
from forewarn.guest.agent.steps.ready_file import ReadyFile
from forewarn.guest.agent.tools import install
from forewarn.guest.agent.values import Step
from forewarn.guest.system import this_machine
from forewarn.plane import ports
from forewarn.plane.ports import Entry, JournalFault, Origin
from forewarn.stores.sqlite import file as sqlite_file
from forewarn.stores.sqlite.journal import SqliteJournal
from forewarn.terms import ScheduledEvent
from forewarn.web.resource_manager.login import tls

MACHINE = this_machine()

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Refused(Exception):  # noqa: N818 - it reads as what it is
    """It did not happen, and never will."""


class Uncertain(Exception):  # noqa: N818 - the name of what is known
    """It has happened whole, or not at all."""


class Durable(Protocol):
    """What the tests do with each of them."""

    whole: ClassVar[bool]  # one value, replaced as a whole: of a change that failed, both are right

    def __init__(self, directory: Path) -> None: ...

    def change(self, number: int) -> None: ...

    def close(self) -> None: ...

    @staticmethod
    def look(directory: Path) -> list[int]: ...


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except ports.Uncertain as fault:
        raise Uncertain(str(fault)) from fault
    except (JournalFault, OSError) as fault:
        raise Refused(str(fault)) from fault


class JournalOfFacts:
    """``journal.sqlite3`` and its log. Two facts a block, and a log that is folded into the file every few blocks."""

    whole: ClassVar[bool] = False

    def __init__(self, directory: Path) -> None:
        sqlite_file._WAL_PAGES = 8
        with _translated():
            self._journal = SqliteJournal(directory / "data")

    def change(self, number: int) -> None:
        entries = [Entry(f.VmDeleted(NOON, f"vm-{number}-{half}"), "DeleteVms", Origin("test")) for half in "ab"]
        with _translated(), self._journal.write() as transaction:
            transaction.append(entries)

    def close(self) -> None:
        self._journal.close()

    @staticmethod
    def look(directory: Path) -> list[int]:
        found = SqliteJournal(directory / "data")
        try:
            names = [record.fact.vm for record in found.read(0, 1000) if isinstance(record.fact, f.VmDeleted)]
            assert [*found.verify()] == []
        finally:
            found.close()
        numbers = [int(name.split("-")[1]) for name in names[::2]]
        assert names == [f"vm-{number}-{half}" for number in numbers for half in "ab"], f"half of a block: {names}"
        return numbers


class Snapshots:
    """``snapshot-*.bin``: each change is a fact, which must stay, and a snapshot, which may fail."""

    whole: ClassVar[bool] = True

    def __init__(self, directory: Path) -> None:
        with _translated():
            self._journal = SqliteJournal(directory / "data")
            try:
                self._region, self._seq = self._journal.load()
                for record in self._journal.read(self._seq, 1000):
                    self._take(record.fact)
            except BaseException:
                self._journal.close()
                raise

    def _take(self, fact: f.Fact) -> None:
        self._region, self._seq = evolve(self._region, fact), self._seq + 1

    def change(self, number: int) -> None:
        command = c.CreateVms((f"vm-{number}",), VmSpec(), f"{number:08X}-0000-4000-8000-000000000000")
        _, facts = step(self._region, command, NOON + timedelta(seconds=number), Rules())
        with _translated():
            with self._journal.write() as transaction:
                transaction.append([Entry(fact, "CreateVms", Origin("test")) for fact in facts])
            for fact in facts:
                self._take(fact)
            self._journal.snapshot(self._region, self._seq)

    def close(self) -> None:
        self._journal.close()

    @staticmethod
    def look(directory: Path) -> list[int]:
        found = SqliteJournal(directory / "data")
        try:
            region, seq = found.load()
            facts = [record.fact for record in found.read(0, 1000)]
        finally:
            found.close()
        whole = Region()
        for fact in facts:
            whole = evolve(whole, fact)
        for fact in facts[seq:]:
            region = evolve(region, fact)
        assert region.vms == whole.vms, "the snapshot is not what the facts say"
        return sorted(int(name.split("-")[1]) for name in whole.vms)


class AgentsJournal:
    """The agent's memory. A change announces a step; some of them fold all before it into a new file."""

    whole: ClassVar[bool] = False

    def __init__(self, directory: Path) -> None:
        agent_journal._COMPACT_AFTER = 3
        with _translated():
            self._journal = agent_journal.AgentJournal(MACHINE.files, directory / "agent")

    def change(self, number: int) -> None:
        record = Begun(number, Step(f"step-{number}", "command", {}, 1.0), "boot", _EVENT)
        try:
            self._journal.write(record)
        except OSError as problem:
            # A disk on which nothing can be synced any more: the record is cut off, which a loss of power may undo.
            raise (Uncertain if self._journal._file is None else Refused)(str(problem)) from problem

    def close(self) -> None:
        self._journal.close()

    @staticmethod
    def look(directory: Path) -> list[int]:
        if not (directory / "agent").exists():
            return []
        found = agent_journal.AgentJournal(MACHINE.files, directory / "agent")
        found.close()
        assert not found.spoiled, found.spoiled
        assert found.state == agent_journal.peek(MACHINE.files, directory / "agent")
        return [effect.run for effect in found.state.effects]


_EVENT = ScheduledEvent("A", "Scheduled", "Reboot", ("web-0",), NOON, None, "User", -1)


class NotesOfSteps:
    """That a step has moved a file away, for a reboot that empties the place where it lies."""

    whole: ClassVar[bool] = True

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def change(self, number: int) -> None:
        with _translated():
            make_directory(self._directory / "run")
            (self._directory / "run" / f"ready-{number}").touch()
        ready = self._directory / "run" / f"ready-{number}"
        step = Step(f"step-{number}", "ready-file", {"path": str(ready)})
        task = Task(MACHINE, step, _EVENT, "web-0", Budget(MACHINE, 5), Receipts(self._directory / "runs", f"{number}"))
        if (ended := ReadyFile().do(task)).outcome is not StepOutcome.DONE:
            raise Refused(str(ended))

    def close(self) -> None:
        """Nothing is held."""

    @staticmethod
    def look(directory: Path) -> list[int]:
        return sorted(int(path.name.rpartition("-")[2]) for path in directory.glob("runs/ready-*"))


class Certificates:
    """The authority and what it vouches for. A change asks for one more name, for which both are made anew."""

    whole: ClassVar[bool] = True

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "tls"

    def change(self, number: int) -> None:
        with _translated():
            tls.prepare(self._directory, tuple(f"host-{n}.example" for n in range(number + 1)), NOON)

    def close(self) -> None:
        """Nothing is held."""

    @staticmethod
    def look(directory: Path) -> list[int]:
        place = directory / "tls"
        before = (place / "ca.pem").read_bytes() if (place / "ca.pem").exists() else b""
        named = before and _names_in(place / "ca.pem")
        files = tls.prepare(place, tuple(f"host-{n}.example" for n in range(named or 0)), NOON)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.certificate, files.key)
        for path in place.iterdir():
            assert path.suffix != ".pem" or "-key" not in path.name or path.stat().st_mode & 0o077 == 0, path
        return [*range(named or 0)] if files.authority.read_bytes() == before else []


def _names_in(path: Path) -> int:
    constraints = x509.load_pem_x509_certificate(path.read_bytes()).extensions
    permitted = constraints.get_extension_for_class(x509.NameConstraints).value.permitted_subtrees or []
    return sum("host-" in str(each.value) for each in permitted)


class Configuration:
    """One of the files that ``az-env`` writes."""

    whole: ClassVar[bool] = True

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "az"

    def change(self, number: int) -> None:
        with _translated():
            make_directory(self._directory)
            az_env._configure(self._directory / "config", {"cloud": {"name": str(number), "padding": "x" * 5000}})

    def close(self) -> None:
        """Nothing is held."""

    @staticmethod
    def look(directory: Path) -> list[int]:
        path = directory / "az" / "config"
        if not path.exists():
            return []
        text = path.read_text()
        assert text.endswith("x" * 5000 + "\n\n"), f"half of a file: {text[-40:]!r}"
        return [*range(int(text.partition("name = ")[2].partition("\n")[0]) + 1)]


class InstalledUnit:
    """What ``forewarn agent install`` writes."""

    whole: ClassVar[bool] = True

    def __init__(self, directory: Path) -> None:
        self._path = directory / "etc" / "unit"

    def change(self, number: int) -> None:
        text = json.dumps({"number": number, "padding": "x" * 5000})
        with _translated():
            install.carry_out([install.Action("write", str(self._path), text=text)])

    def close(self) -> None:
        """Nothing is held."""

    @staticmethod
    def look(directory: Path) -> list[int]:
        path = directory / "etc" / "unit"
        return [*range(json.loads(path.read_text())["number"] + 1)] if path.exists() else []


DURABLES: dict[str, type[Durable]] = {
    "journal": JournalOfFacts,
    "snapshots": Snapshots,
    "agent": AgentsJournal,
    "notes of steps": NotesOfSteps,
    "certificates": Certificates,
    "az-env": Configuration,
    "unit": InstalledUnit,
}

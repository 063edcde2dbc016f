"""What a simulation is told, and what it tells in the end."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Misfortune(StrEnum):
    """The kinds of faults, by the names that --faults knows."""

    CRASH = "crash"
    PARTITION = "partition"
    LOSS = "loss"
    SLOW = "slow"
    STORE = "store"
    CLOCK = "clock"
    THROTTLE = "throttle"


MEANINGS = {
    Misfortune.CRASH: "servers are killed, also in the middle of a commit; agents are killed; VMs panic",
    Misfortune.PARTITION: "VMs and servers cannot be reached for a while",
    Misfortune.LOSS: "packets are lost, connections are reset",
    Misfortune.SLOW: "packets take up to seconds",
    Misfortune.STORE: "the journal cannot be written, or not be reached; disks of VMs are full",
    Misfortune.CLOCK: "the clocks of servers and VMs are set, forwards and back",
    Misfortune.THROTTLE: "the metadata service answers with 410, 429, 500, late, empty, or hangs up",
}
ALL = tuple(Misfortune)
# Fewer than twelve have no VM of every kind; the rest bounds what one run may take
LEAST_VMS, MOST_VMS, MOST_DAYS, MOST_NODES, MOST_RELAYS = 12, 5_000, 365.0, 3, 20


@dataclass(frozen=True, slots=True)
class SimulationPlan:
    """With the version of the program this determines everything: the same plan gives the same history."""

    seed: int
    vms: int = 200  # with the seven days below a run of about a minute (docs/simulator.md)
    days: float = 7.0  # long enough for scopes that fall silent for a day, and for a campaign
    faults: tuple[Misfortune, ...] = ALL
    nodes: int = 1
    pace: float = 1.0  # how much happens, times the usual
    relays: int = 0  # one for each of the first hosts

    def told(self) -> dict[str, Any]:
        """Its fields as a record and a digest have them: what came later counts only where it is used."""
        fields = asdict(self)
        if not self.relays:
            del fields["relays"]
        return fields

    def words(self) -> str:
        """The options that say the same."""
        faults = "all" if self.faults == ALL else ",".join(self.faults) or "none"
        words = f"--seed {self.seed} --vms {self.vms} --days {self.days:g} --faults {faults} --nodes {self.nodes}"
        words += f" --relays {self.relays}" if self.relays else ""
        return words if self.pace == 1.0 else f"{words} --pace {self.pace:g}"


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must never be."""

    step: int  # how many transactions the journal had
    at: str
    rule: str  # which promise was broken, in a word or two
    sentence: str
    story: tuple[str, ...]  # the last facts about it

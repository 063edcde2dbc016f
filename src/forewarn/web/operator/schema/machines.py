"""Real machines as the operator face tells of them, and what is asked about them.

No body has a field for an address of an engine, a command line or a template: those stand in the server's own files.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from forewarn.core.specs import DEFAULT_RESOURCE_GROUP
from forewarn.web.operator.schema.answers import Answer, CommandAnswer
from forewarn.web.operator.schema.requests import Body, Flag, Name, ResourceGroup, TerminateNotice

_NOON = "2026-01-01T12:00:00Z"
_GUID = "4CAEA225-A741-474D-A72E-428C86FCD853"
WayWord = Literal["address", "nic", "unix", "network", "namespace"]


class ErrandAnswer(Answer):
    """One thing to be done to one machine, and how far it has come."""

    id: str = Field(description="The same in the engine's own records.", examples=[_GUID])
    kind: str = Field(description="What is wanted.", examples=["restart"])
    vm: str = Field(description="Whose machine; empty for a whole host.", examples=["web-0"])
    host: str = Field(description="Where it is, as far as is known.", examples=["rack-1"])
    to: str = Field(description="Where it is to be; empty where it stays.", examples=["rack-2"])
    state: str = Field(description="`waiting`, `tried`, `done` or `given up`.", examples=["tried"])
    made_at: datetime = Field(description="When it was asked for.", examples=[_NOON])
    tries: int = Field(description="How often it was tried, or told not to have worked.", examples=[1])
    why: str = Field(description="What the engine said, where it did not work; else empty.", examples=[""])


class MachineAnswer(Answer):
    """The real machine of a VM, as it was last seen."""

    vm: str = Field(description="The VM.", examples=["web-0"])
    engine: str = Field(description="What runs it, by its name in the server's own files.", examples=["containers"])
    host: str = Field(description="Where it was last seen.", examples=["rack-1"])
    ref: str = Field(description="The engine's own name for it; empty until it is made.", examples=["web-0"])
    power: str = Field(description="`running`, `paused`, `off` or `gone`.", examples=["running"])
    boot_mark: str = Field(description="Changes whenever it loses its memory.", examples=["3f2a 2026-01-01"])
    seen_at: datetime = Field(description="When something about it last changed.", examples=[_NOON])
    alarm: str = Field(description="What a person should look at; empty where all is well.", examples=[""])
    doubled: bool = Field(description="Whether it runs at two hosts; nothing is done to either.", examples=[False])
    also: str = Field(description="Another host where it was seen running; else empty.", examples=[""])
    cannot: list[str] = Field(
        description="What cannot be done to it, as its engine found when it was adopted.", examples=[["migrate"]]
    )
    way: str = Field(description="How its requests come to the region, as it was adopted.", examples=["network"])
    errands: list[ErrandAnswer] = Field(description="What is to be done to it, in this order.")


class DeclaredHostAnswer(Answer):
    """A host of the server's own region file."""

    name: str = Field(description="Its name.", examples=["rack-1"])
    engine: str = Field(description="Its engine's name.", examples=["containers"])
    kind: str = Field(description="The kind of that engine.", examples=["docker"])
    node: str = Field(description="The node that alone works there; empty: the one that leads.", examples=["alpha"])
    health: str = Field(
        description="`healthy`, `silent`, `fenced` and so on; `not added` before it takes part.", examples=["healthy"]
    )
    has_fence: bool = Field(description="Whether something can turn it off when it is lost.", examples=[True])
    calls_hung: int = Field(description="Calls into it that have not come back to this node.", examples=[0])


class MachinesAnswer(Answer):
    """Everything about real machines, and what needs a look."""

    machines: list[MachineAnswer] = Field(description="By VM.")
    hosts: list[DeclaredHostAnswer] = Field(description="Those that this server's region file declares.")
    errands_open: int = Field(description="Errands that are not over.", examples=[0])
    errands_hindered: int = Field(description="Those of them that did not work the last time.", examples=[0])
    alarms: int = Field(description="Machines that a person should look at.", examples=[0])
    hosts_silent: int = Field(description="Hosts of which nothing is heard.", examples=[0])
    hosts_fenced: int = Field(description="Hosts that are known to be off.", examples=[0])
    calls_hung: int = Field(description="Calls into engines that have not come back to this node.", examples=[0])


class UnadoptedAnswer(Answer):
    """A machine that an engine runs and the region does not know."""

    host: str = Field(description="Where it is.", examples=["rack-1"])
    ref: str = Field(description="The engine's own name for it.", examples=["web-0"])
    engine: str = Field(description="What runs it.", examples=["containers"])
    power: str = Field(description="`running`, `paused` or `off`.", examples=["running"])


class UnreachedAnswer(Answer):
    """A host of which it cannot be told what runs there."""

    host: str = Field(description="Its name.", examples=["rack-2"])
    why: str = Field(description="As a sentence.", examples=["Host 'rack-2' has not been added."])


class UnadoptedsAnswer(Answer):
    machines: list[UnadoptedAnswer] = Field(description="By host and name.")
    unreached: list[UnreachedAnswer] = Field(description="Hosts that are left out, and why.")


class FindingAnswer(Answer):
    """One thing that is to be known about a machine."""

    topic: str = Field(description="What it is about.", examples=["filtered"])
    ok: bool = Field(description="Whether that is as it should be.", examples=[True])
    sentence: str = Field(description="As a sentence.", examples=["It cannot send under another's address."])


class EffectAnswer(Answer):
    """What an event of one type would do to a machine."""

    type: str = Field(description="The type of event.", examples=["Reboot"])
    kind: str = Field(description="What is asked of the engine; empty where it cannot be done.", examples=["restart"])
    sentence: str = Field(description="As a sentence.", examples=["It is restarted."])


class CheckAnswer(Answer):
    """Whether a machine is known safely, and what events would do to it."""

    vm: str = Field(description="The VM; empty before it is adopted.", examples=["web-0"])
    host: str = Field(description="Where its machine is.", examples=["rack-1"])
    ref: str = Field(description="The engine's own name for it.", examples=["web-0"])
    way: str = Field(description="How its requests come to the region.", examples=["network"])
    identity_safe: bool = Field(description="Whether only this machine can speak as it.", examples=[True])
    bound: bool = Field(description="Whether the metadata face knows it by that way.", examples=[True])
    findings: list[FindingAnswer] = Field(description="In the order in which one wants to know them.")
    effects: list[EffectAnswer] = Field(description="One for each type of event.")


class AdoptedAnswer(CheckAnswer, CommandAnswer):
    """A machine that is a VM of the region now."""

    changes: list[str] = Field(
        description="What adoption changes at the machine, and how that is undone.", examples=[["Nothing."]]
    )


class ReleasedAnswer(CommandAnswer):
    """A machine that the region has let go of."""

    vm: str = Field(description="The VM that was.", examples=["web-0"])
    host: str = Field(description="Where its machine is.", examples=["rack-1"])
    ref: str = Field(description="The engine's own name for it.", examples=["web-0"])
    message: str = Field(description="What became of it.", examples=["The machine was not touched."])


class HostChanged(CommandAnswer):
    """A host that takes part now, or does not any more."""

    name: str = Field(description="Its name.", examples=["rack-1"])
    health: str = Field(description="How it is from now on.", examples=["healthy"])
    message: str = Field(description="The same as a sentence.", examples=["Host 'rack-1' takes part."])


# What is asked


class HostNameBody(Body):
    name: Name = Field(description="The name of a host of the server's own region file.", examples=["rack-1"])


class AdoptBody(Body):
    """A machine by where it is and what its engine calls it, and the VM that it becomes."""

    host: Name = Field(description="A host that takes part.", examples=["rack-1"])
    ref: Name = Field(description="What its engine calls the machine.", examples=["web-0"])
    vm: Name | None = Field(None, description="The VM's name; as the engine's where it is left out.", examples=["web"])
    way: WayWord | None = Field(
        None,
        description="How its requests come to the region, and what tells whose they are; usual for its engine.",
        examples=["network"],
    )
    availability_set: Name | None = Field(None, description="The set that it is in.", examples=["front"])
    spot: Flag = Field(False, description="It may be evicted.", examples=[False])
    eviction_policy: Literal["Deallocate", "Delete"] = Field(
        "Deallocate", description="What becomes of it when it is evicted.", examples=["Deallocate"]
    )
    terminate_notice_seconds: TerminateNotice | None = Field(
        None, description="The warning before its deletion, if it wants one: 300 to 900.", examples=[300]
    )
    resource_group: ResourceGroup = Field(
        DEFAULT_RESOURCE_GROUP, description="Where the Resource Manager shows it.", examples=["forewarn"]
    )


class VmNameBody(Body):
    vm: Name = Field(description="The VM.", examples=["web-0"])

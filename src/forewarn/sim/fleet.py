"""The VMs of a simulated region: how they are grouped, and what runs in each of them."""

from __future__ import annotations

import hashlib

from forewarn.guest.agent.values import AgentConfig, Barrier, Rule, Sharing, Step, Verdict
from forewarn.sim.machines import ENDPOINT, POLL_SECONDS, Tenant

BARRIER_PORT = 16928  # the port of the agent's documentation
SECRET = "/barrier.secret"  # noqa: S105 - a path
STEPS = (
    Step("out-of-balancer", "ready-file", timeout_seconds=5),
    Step("drain", "command", {"run": ["drain"], "undo": ["undrain"]}, timeout_seconds=120, repeatable=True),
    Step("flush", "command", {"run": ["flush"]}, timeout_seconds=10),
    Step("leave-cluster", "command", {"run": ["leave"], "undo": ["join"]}, timeout_seconds=60),
)
_SHORT = Rule("evictions", Verdict.PREPARE_THEN_APPROVE, types=("Preempt",), steps=("out-of-balancer", "flush"))
_ALL = Rule("all", Verdict.PREPARE_THEN_APPROVE)
_QUIET = Rule("users", Verdict.PREPARE_ONLY, sources=("User",), steps=("out-of-balancer",))
_POLICIES = ((_SHORT,), (_SHORT, _ALL), (_SHORT, _QUIET, _ALL))  # behind the first stand the built-in rules


def _draw(text: str, sides: int) -> int:
    """A die that always falls the same way for the same text, in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest()) % sides


def tenant_of(name: str, kind: str) -> Tenant:
    """All agents in sets, since an approval there is one for all; among lone VMs some others."""
    if kind != "vm":
        return Tenant.AGENT
    luck = _draw(name, 20)
    return Tenant.NOBODY if luck < 2 else Tenant.WATCHER if luck < 4 else Tenant.AGENT


def config_of(name: str, set_name: str) -> AgentConfig:
    """The agent's settings, chosen by the VM's set: VMs that share an event have the same."""
    place = _draw(set_name or name, 60)
    key = name.lower()
    return AgentConfig(
        endpoint=f"{ENDPOINT}/vm/{name}",
        name=name,
        poll_seconds=POLL_SECONDS,
        state_directory=f"/{key}/state",
        rules=_POLICIES[place % len(_POLICIES)],
        steps=tuple(
            step
            if step.kind == "command"
            else Step(step.name, step.kind, {"path": f"/{key}/ready"}, step.timeout_seconds)
            for step in STEPS
        ),
        barrier=Barrier(
            Sharing.NEVER if place % 6 == 5 else Sharing.TOGETHER,
            listen=f"0.0.0.0:{BARRIER_PORT}",
            address=f"http://{{name}}:{BARRIER_PORT}",
            secret_file=SECRET,
        ),
    )

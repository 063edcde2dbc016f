"""The nodes of the region: who serves it, how far each has come, and whether they agree."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace
from pydantic import Field

from forewarn.plane.ports import Journal, Node
from forewarn.web.operator.desk import TheDesk, ThePlane
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.answers import Answer

router = routes_below("/v1/nodes", "nodes")

_MOST_LAG = 10_000  # ours: as far as it is counted
_SILENT_AFTER = timedelta(seconds=10)  # three announcements missed (Pace.announce_seconds)


class NodeAnswer(Answer):
    """One server of the region, as it last told of itself."""

    name: str = Field(description="What people call it.", examples=["alpha:16926"])
    id: str = Field(description="This run of it.", examples=["0c5f4f61-6a8f-4d6a-9b7e-3f1f6f0f9f10"])
    version: str = Field(description="The version of its program.", examples=["0.2.0"])
    faces: list[str] = Field(description="What it does.", examples=[["metadata", "control"]])
    urls: list[str] = Field(description="Where it listens.", examples=[["http://10.0.0.1:16926"]])
    rules: str = Field(
        description="A digest of the settings that the rules are made of; nodes with the same one decide alike.",
        examples=["9f86d081884c"],
    )
    started_at: datetime = Field(description="When it started.", examples=["2026-01-01T12:00:00Z"])
    seen_at: datetime = Field(description="When it last told of itself.", examples=["2026-01-01T12:00:03Z"])
    seen_seconds_ago: float = Field(description="How long ago that is.", examples=[1.5])
    seq: int = Field(description="The last record that it had read then.", examples=[57])
    lag: int = Field(description="How many records were there then that it had yet to read.", examples=[0])
    leads: bool = Field(description="Whether it does what is done once in a region.", examples=[True])
    draining: bool = Field(description="Whether it is shutting down.", examples=[False])
    silent: bool = Field(description="Whether it should have told of itself since.", examples=[False])
    this: bool = Field(description="Whether it is the one that answers here.", examples=[True])


class BesideAnswer(Answer):
    """Who answers VMs by what one node tells them. Only that node knows, so it tells of itself alone."""

    readers: int = Field(description="How many readers of it answer (`--readers`).", examples=[2])
    readers_ended: int = Field(
        description="How many of its readers have ended that were not to, since it started.", examples=[0]
    )
    relays: int = Field(description="How many streams of relays follow it: each relay has one.", examples=[3])
    told: list[str] = Field(
        description="The same in sentences; none of what there is none of.",
        examples=[["2 readers answer VMs beside this node.", "3 relays follow this node."]],
    )


class NodesAnswer(Answer):
    nodes: list[NodeAnswer] = Field(description="By name.")
    beside: BesideAnswer = Field(description="Readers of the node that answers here, and relays that follow it.")
    warnings: list[str] = Field(
        description="A sentence for each thing that should not stay so.",
        examples=[["The nodes run different versions: 0.1.0, 0.2.0."]],
    )


@router.get("", summary="List nodes")
async def list_nodes(desk: TheDesk, plane: ThePlane) -> NodesAnswer:
    """Every server of the region that has been seen lately, by name; a region of its own directory has one."""
    this, listed = plane.membership.node, await plane.membership.nodes()
    now = plane.now()
    nodes = [replace(this, seen_at=now) if node.id == this.id else node for node in listed]
    lags = await asyncio.to_thread(_lags, plane.journal, nodes, this.seq)
    leader = leader_of(nodes, this.id, now)
    fields = [_fields(node, lag, now, leader, this.id) for node, lag in zip(nodes, lags, strict=True)]
    beside = beside_of(*desk.readers(), len(desk.newsroom))
    return NodesAnswer(nodes=fields, beside=beside, warnings=list(warnings(nodes, leader, now)))


def beside_of(readers: int, ended: int, relays: int) -> BesideAnswer:
    """In figures and in words."""
    told = list(_sentences(readers, ended, relays))
    return BesideAnswer(readers=readers, readers_ended=ended, relays=relays, told=told)


def _sentences(readers: int, ended: int, relays: int) -> Iterator[str]:
    if readers:
        yield f"{readers} {'reader answers' if readers == 1 else 'readers answer'} VMs beside this node."
    if ended:
        none = "" if readers else "No reader answers beside this node now. "
        some = f"{ended} {'reader has' if ended == 1 else 'readers have'}"
        yield f"{none}{some} ended unexpectedly since it started. Each is followed by another; the log says why."
    if relays:
        yield f"{relays} {'relay follows' if relays == 1 else 'relays follow'} this node."


def _lags(journal: Journal, nodes: list[Node], head: int) -> list[int]:
    return [_lag(journal, node, head) for node in nodes]


def _lag(journal: Journal, node: Node, head: int) -> int:
    """A node tells of itself every few seconds; it is not behind for what was written since then."""
    if node.seq >= head:
        return 0
    return sum(record.fact.at < node.seen_at for record in journal.read(node.seq, _MOST_LAG))


def leader_of(nodes: Sequence[Node], this: str, now: datetime) -> str:
    """Of the nodes that say that they lead: this one, else the one heard last, for the others may be gone."""
    claims = [(node.id == this, node.seen_at, node.id) for node in nodes if node.leads and not _is_silent(node, now)]
    return max(claims)[-1] if claims else ""


def _is_silent(node: Node, now: datetime) -> bool:
    return now - node.seen_at > _SILENT_AFTER


def _fields(node: Node, lag: int, now: datetime, leader: str, this: str) -> NodeAnswer:
    return NodeAnswer(
        name=node.name,
        id=node.id,
        version=node.version,
        faces=list(node.faces),
        urls=list(node.urls),
        rules=node.rules,
        started_at=node.started_at,
        seen_at=node.seen_at,
        seen_seconds_ago=max((now - node.seen_at).total_seconds(), 0),
        seq=node.seq,
        lag=lag,
        leads=node.id == leader,
        draining=node.draining,
        silent=_is_silent(node, now),
        this=node.id == this,
    )


def warnings(nodes: Sequence[Node], leader: str, now: datetime) -> Iterator[str]:
    """What should not stay so."""
    silent = [node.name for node in nodes if _is_silent(node, now)]
    if silent:
        yield f"Nothing is heard of {', '.join(silent)}: killed, stopped, or cut off from the store."
    versions = sorted({node.version for node in nodes})
    if len(versions) > 1:
        yield f"The nodes run different versions: {', '.join(versions)}. Bring the older ones up to date."
    rules: dict[str, list[str]] = {}
    for node in nodes:
        rules.setdefault(node.rules, []).append(node.name)
    if len(rules) > 1:
        sides = " against ".join(", ".join(names) for names in rules.values())
        yield (
            f"The nodes go by different rules ({sides}): give all of them the same settings, "
            "or what happens depends on which one is asked."
        )
    if not leader:
        yield "No node leads now: what falls due waits until one does, which takes seconds."

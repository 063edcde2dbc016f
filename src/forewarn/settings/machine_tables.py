"""``[[engine]]``, ``[[host]]``, ``[[blueprint]]`` and ``[machines]`` of a region file, read and checked by line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from forewarn.settings.errors import usage
from forewarn.settings.kinds import ClockChoice
from forewarn.settings.machine_entries import (
    KINDS,
    BlueprintEntry,
    Declared,
    DeclaredHost,
    EngineEntry,
    HostEntry,
    MachinesEntry,
    bytes_of,
    seconds_of,
)
from forewarn.settings.near import complain_of_key, near_miss

if TYPE_CHECKING:
    from forewarn.guest.agent.config.complaints import Complaints
    from forewarn.guest.agent.config.toml_lines import Place

TABLES = ("engine", "host", "blueprint", "machines")
WORDS = {
    "str": "text",
    "bool": "true or false",
    "int": "a whole number",
    "tuple[str, ...]": "a list of texts",
    "Mapping[str, str]": "a table of text",
    "timedelta": "a duration",
    "timedelta | None": "a duration, or `never`",
}
# The shortest and longest of each, and the least and most: ours, far around what anybody was seen to use
BOUNDS = {
    "grace": ("0s", "1h"),
    "migration_timeout": ("1s", "7d"),
    "migration_downtime": ("1ms", "10s"),
    "listing_every": ("1s", "1h"),
    "call_timeout": ("1s", "10m"),
    "silent_after": ("2s", "1h"),
    "fence_after": ("2s", "7d"),
}
_MOST = {"crash_restarts": (0, 1000), "parallel": (1, 1000), "fault_domain": (0, 999), "update_domain": (0, 999)}
_WORDS_OF = {"when_not_migratable": ("reboot", "freeze", "refuse")}
_MOST["capacity"] = (0, 100_000)  # ours: ten times what one listing was measured with
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,78}[A-Za-z0-9_])?")  # as the core has it for every name
_PRETENDED = re.compile(r"host-\d+", re.IGNORECASE)
_OF_KIND = {
    "docker": ("image", "command", "environment", "network", "volumes", "mounts", "memory"),
    "libvirt": ("definition", "pool", "image"),
    "remote": ("image",),
}
_NEEDED = {"docker": "image", "libvirt": "definition"}
_Entry = TypeVar("_Entry", EngineEntry, HostEntry, BlueprintEntry)


def read_machines(book: Complaints, tables: Mapping[str, Any], directory: Path) -> Declared:
    """All four kinds of tables; what is wrong is noted by its line."""
    engines = _read_named(book, "engine", tables, EngineEntry)
    hosts = _read_named(book, "host", tables, HostEntry)
    blueprints = _read_named(book, "blueprint", tables, BlueprintEntry)
    machines = _read_machines(book, tables.get("machines", {}))
    found = Declared(tuple(engines.values()), tuple(hosts.values()), tuple(blueprints.values()), machines, directory)
    by_name = {engine.name: engine for engine in found.engines}
    if not all(book.sound((table,)) for table in TABLES):
        return found  # what follows from a slip is not worth a complaint
    for index, engine in engines.items():
        _check_engine(book, ("engine", index), engine)
    for index, host in hosts.items():
        place = ("host", index)
        if _known(book, place, host.engine, by_name):
            _check_host(book, place, DeclaredHost(host, by_name[host.engine]))
    for index, blueprint in blueprints.items():
        place = ("blueprint", index)
        if _known(book, place, blueprint.engine, by_name):
            _check_blueprint(book, place, blueprint, by_name[blueprint.engine], directory)
    _check_nodes(book, found, {host.name: index for index, host in hosts.items()})
    return found


def check_together(declared: Declared, clock: ClockChoice, *, ephemeral: bool) -> None:
    """Refuse settings that do not go together with real machines: a clock that is not real, an ephemeral region."""
    if not declared.engines:
        return
    if clock.kind != "real":
        raise usage(
            f"real machines live in real time: with [[engine]] tables the clock is real, and not {clock}; leave off "
            "one of the two."
        )
    if ephemeral:
        raise usage(
            "an ephemeral region forgets its machines when it ends, and what was being done to them: with [[engine]] "
            "tables it is kept in data or in store; leave off one of the two."
        )


def this_node(declared: Declared, node_name: str, *, shared: bool) -> str:
    """What this server is called among the nodes that hosts name. One that shares no store is the only node."""
    named = sorted({host.node for host in declared.every_host() if host.node})
    if node_name or not named:
        if named and not shared and named != [node_name]:
            other = next(each for each in named if each != node_name)
            raise usage(
                f"hosts are worked on by node {other!r}, and this region has only this node, {node_name!r}: say node "
                f"= {node_name!r} there, or share a store."
            )
        return node_name
    if shared:
        raise usage(f"hosts name the nodes that work there ({', '.join(named)}): say by node_name which one this is.")
    if len(named) > 1:
        raise usage(f"hosts name {len(named)} nodes ({', '.join(named)}), and a region without a store has one.")
    return named[0]


# One table


def _read_named(book: Complaints, table: str, tables: Mapping[str, Any], entry: type[_Entry]) -> dict[int, _Entry]:
    """The tables of one kind, by their place in the file."""
    given = tables.get(table, [])
    if not isinstance(given, list):
        book.complain((table,), f"{table}s are written as [[{table}]] tables, with two brackets")
        return {}
    found: dict[int, _Entry] = {}
    names: set[str] = set()
    for index, each in enumerate(given):
        place: Place = (table, index)
        values = _values(book, place, f"[[{table}]] number {index + 1}", each, fields(entry))
        if values is None:
            continue
        made = entry(**values)
        _check_name(book, place, table, made.name)
        if made.name.lower() in names:
            book.complain((*place, "name"), f"two [[{table}]] tables are named {made.name!r}")
        names.add(made.name.lower())
        found[index] = made
    return found


def _read_machines(book: Complaints, table: object) -> MachinesEntry:
    values = _values(book, ("machines",), "[machines]", table, fields(MachinesEntry))
    return MachinesEntry() if values is None else MachinesEntry(**values)


def _values(
    book: Complaints, place: Place, title: str, table: object, known: tuple[Field[Any], ...]
) -> dict[str, Any] | None:
    """What a table says, as its entry wants it; None where something is wrong with it."""
    if not isinstance(table, dict):
        book.complain(place, f"{title} is not a table")
        return None
    types, values = {each.name: str(each.type) for each in known}, {}
    for key, value in table.items():
        if key not in types:
            complain_of_key(book, (*place, key), f"{place[0]}.{key}", types)
            continue
        try:
            values[key] = _value(types[key], key, value)
        except ValueError as problem:
            book.complain((*place, key), f"{key} of {title}: {problem}")
    for each in known:
        if each.default is MISSING and each.default_factory is MISSING and not table.get(each.name):
            book.complain(place, f"{title} needs a {each.name}")
    return values if book.sound(place) else None


def _value(kind: str, key: str, value: object) -> Any:
    if key in _WORDS_OF and value not in _WORDS_OF[key]:
        raise ValueError(f"it must be {', '.join(_WORDS_OF[key][:-1])} or {_WORDS_OF[key][-1]}")
    if kind.startswith("timedelta") and isinstance(value, str):
        return None if value == "never" and kind != "timedelta" else seconds_of(value, *BOUNDS[key])
    if kind == "tuple[str, ...]" and isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    if kind == "Mapping[str, str]" and isinstance(value, dict) and all(isinstance(v, str) for v in value.values()):
        return value
    if {"str": str, "bool": bool, "int": int}.get(kind) is not type(value):
        raise ValueError(f"it must be {WORDS[kind].replace('`', '')}")
    if isinstance(value, int) and key in _MOST and not _MOST[key][0] <= value <= _MOST[key][1]:
        raise ValueError(f"{value} is not a number from {_MOST[key][0]} to {_MOST[key][1]}")
    if isinstance(value, str) and not value.isprintable():
        raise ValueError("it holds a character that cannot be printed")
    return value


def _check_name(book: Complaints, place: Place, table: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        book.complain((*place, "name"), f"{name!r} cannot be the name: use letters, digits, '.', '_' and '-'")
    elif table == "host" and _PRETENDED.fullmatch(name):
        book.complain((*place, "name"), f"{name!r} cannot name a real host: pretended ones are called so")


def _known(book: Complaints, place: Place, engine: str, known: Mapping[str, EngineEntry]) -> bool:
    if engine not in known:
        book.complain((*place, "engine"), f"there is no [[engine]] named {engine!r}{near_miss(engine, known)}")
    return engine in known and book.sound(("engine",))


# What belongs together


def _check_engine(book: Complaints, place: Place, engine: EngineEntry) -> None:
    if engine.kind not in KINDS:
        hint = near_miss(engine.kind, KINDS)
        book.complain((*place, "kind"), f"{engine.kind!r} is no kind of engine: {', '.join(KINDS)}{hint}")
        return
    for key in ("socket", "uri", "url", "program"):
        if getattr(engine, key) and key not in engine.takes:
            _complain_of_place(book, (*place, key), engine, key)
    if engine.kind == "remote":
        _check_remote(book, place, engine)
    else:
        for key in [key for key in ("token_file", "ca") if getattr(engine, key)]:
            book.complain((*place, key), f"a {key} is for engines of kind remote")
    if engine.shared_disks and engine.kind != "libvirt":
        book.complain((*place, "shared_disks"), "shared_disks is for engines of kind libvirt")


def _check_remote(book: Complaints, place: Place, engine: EngineEntry) -> None:
    ways = [key for key in engine.takes if getattr(engine, key)]
    if len(ways) != 1:
        book.complain(place, f"engine {engine.name!r} needs a url, a socket or a program: one of the three")
    if engine.token_file and ways == ["program"]:
        book.complain((*place, "token_file"), "a program that forewarn starts itself needs no token")
    if engine.ca and ways != ["url"]:
        book.complain((*place, "ca"), "a ca is for engines with a url: nothing else has a certificate")
    if engine.url and not engine.url.startswith("https://"):
        book.complain((*place, "url"), f"{engine.url!r} is not like https://engine.example:8443")
    elif engine.url and not engine.token_file:
        book.complain(place, f"engine {engine.name!r} is reached by https, so it needs a token_file")


def _complain_of_place(book: Complaints, place: Place, engine: EngineEntry, key: str) -> None:
    words = " or ".join(engine.takes)
    book.complain(place, f"an engine of kind {engine.kind} is reached by its {words}, not by a {key}")


def _check_host(book: Complaints, place: Place, host: DeclaredHost) -> None:
    entry, engine = host.entry, host.engine
    for key in ("socket", "uri"):
        if getattr(entry, key) and (key not in engine.takes or engine.kind == "remote"):
            _complain_of_place(book, (*place, key), engine, key)
    for key in ("peer_uri", "migrate_uri"):
        if getattr(entry, key) and engine.kind != "libvirt":
            book.complain((*place, key), f"{key} is for hosts of an engine of kind libvirt")
    if not book.sound(place):
        return
    if not host.address:
        book.complain(place, f"host {entry.name!r} needs a {engine.takes[0]}, its own or that of its engine")
    elif host.socket and not host.socket.startswith("/"):
        book.complain(place, f"the socket of host {entry.name!r} is a path that begins with /")
    elif host.is_local and not host.node:
        book.complain(
            place,
            f"host {entry.name!r} is reached by a local {'URI' if host.uri else 'socket'}, so it needs a node: the "
            "node_name of the server that runs on the same machine",
        )
    if entry.fence and not entry.fence[0]:
        book.complain((*place, "fence"), "the fence begins with the program to run")


def _check_nodes(book: Complaints, declared: Declared, places: Mapping[str, int]) -> None:
    """Whoever carries a machine from one host to another has to reach both."""
    for engine in declared.engines:
        hosts = declared.of_engine(engine) if book.sound() else []
        nodes = {host.node for host in hosts}
        for host in hosts if len(nodes) > 1 else ():
            place: Place = ("host", places[host.entry.name])
            if engine.kind == "docker":
                book.complain(
                    place,
                    f"the hosts of engine {engine.name!r} have different nodes ({', '.join(sorted(nodes))}): machines "
                    "do not move between sockets of two machines, so declare an engine for each node",
                )
                break
            if engine.kind == "libvirt" and host.is_local and not host.entry.peer_uri:
                book.complain(place, f"host {host.entry.name!r} needs a peer_uri, by which other nodes reach it")


def _check_blueprint(
    book: Complaints, place: Place, blueprint: BlueprintEntry, engine: EngineEntry, directory: Path
) -> None:
    allowed = _OF_KIND[engine.kind]
    for each in fields(blueprint):
        if each.name not in ("name", "engine", *allowed) and getattr(blueprint, each.name):
            words = f"{each.name} is not for engines of kind {engine.kind}: they take {', '.join(allowed)}"
            book.complain((*place, each.name), words)
    needed = _NEEDED.get(engine.kind, "")
    if needed and not getattr(blueprint, needed):
        book.complain(place, f"blueprint {blueprint.name!r} needs its {needed}")
    if bool(blueprint.pool) != bool(blueprint.image) and engine.kind == "libvirt":
        book.complain(place, f"blueprint {blueprint.name!r}: a pool and an image go together")
    if engine.kind == "libvirt" and blueprint.definition and not (directory / blueprint.definition).is_file():
        book.complain((*place, "definition"), f"there is no file {blueprint.definition!r} beside the region file")
    for sentence in _wrong_texts(blueprint):
        book.complain(place, f"blueprint {blueprint.name!r}: {sentence}")


def _wrong_texts(blueprint: BlueprintEntry) -> Iterator[str]:
    try:
        bytes_of(blueprint.memory)
    except ValueError as problem:
        yield str(problem)
    for volume in blueprint.volumes:
        name, _, path = volume.partition(":")
        if not _NAME.fullmatch(name) or not path.startswith("/"):
            yield f"a volume is written NAME:/PATH, not {volume!r}"
    for mount in blueprint.mounts:
        if not mount.startswith("/") or ":/" not in mount:
            yield f"a mount is written /FROM:/TO or /FROM:/TO:ro, not {mount!r}"

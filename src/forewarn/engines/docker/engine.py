"""Containers behind one or several Docker-compatible sockets, as the machines of an engine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, structs

from forewarn.core.machines.values import Errand, ErrandKind, Listing, MachinePower, SeenWhy
from forewarn.engines.docker.calls import EngineAnswer, EngineSocket
from forewarn.engines.docker.containers import (
    ERRAND_LABEL,
    HOST_LABEL,
    VM_LABEL,
    Container,
    container_of,
    defined,
    definition_of,
    is_aside,
    name_aside,
)
from forewarn.engines.docker.deciding import KINDS, EngineCall, Scene, decide, is_anothers, ref_of, removal, undoing
from forewarn.engines.docker.examining import examined
from forewarn.engines.docker.making import Blueprint, volumes_of
from forewarn.plane.hands.engine import Done, EngineFault, ErrandResult, Failed, Finding, NotYet, Unknown, Warrant, Way

CHANGES_MOST = 16  # of one errand in one go; the longest way (a container put in another's place) has nine; ours
CALL_SECONDS = 30.0  # ours: far longer than any call takes that is not hung
# What an engine still does for somebody who was killed: a container being made has a name before it can be seen. podman
# says 500 to all of it
_BUSY = ("in progress", "already in use")

# podman says 500 to a program that is not in the image, and to one that may not be run, where dockerd says 400
_FOR_GOOD = ("attempted to invoke a command that was not found", "OCI permission denied")

# Of dockerd and podman that were killed while they started a container: what runs it has it, and will not have it again
_HALF_STARTED = "already exists"


class Refusal(Struct, frozen=True):
    """A change that the engine did not make, in its words."""

    scene: Scene
    result: Failed | NotYet


class DockerEngine:
    """Each host is a socket. Hosts may share one: the containers that forewarn made are then told apart by a label, and
    all others count at the first of these hosts."""

    def __init__(
        self,
        name: str,
        hosts: Mapping[str, str],
        blueprints: Iterable[Blueprint] = (),
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self._name = name
        by_path = {path: EngineSocket(path, call_seconds) for path in dict.fromkeys(hosts.values())}
        self._sockets = {host: by_path[path] for host, path in hosts.items()}
        self._blueprints = {blueprint.name: blueprint for blueprint in blueprints}

    @property
    def name(self) -> str:
        return self._name

    @property
    def kinds(self) -> frozenset[ErrandKind]:
        return KINDS

    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        """Look, change one thing, look again, until what was seen is what is wanted, or nothing moves."""
        try:
            result = self._carry_out(errand, warrant)
            if errand.kind is ErrandKind.CREATE and isinstance(result, Failed) and result.lasting:
                return self._undo(errand, warrant, result)
            return result
        except EngineFault as fault:  # at a look: nothing is known, so nothing is said
            return Unknown(str(fault))

    def _undo(self, errand: Errand, warrant: Warrant, refusal: Failed) -> ErrandResult:
        """What was made for a machine that cannot be is removed before anybody hears that it cannot be: by this
        errand's label, so that nobody else's is. Where that does not work, the errand is not over yet."""
        refused: Refusal | None = None
        for _ in range(CHANGES_MOST):
            scene = self._look(errand, warrant)
            volumes = self._volumes_with(self._at(scene.target), ERRAND_LABEL, errand.id)
            scene = structs.replace(scene, volumes=volumes)
            if scene.new is not None and scene.new.power is MachinePower.RUNNING:
                return NotYet(f"{scene.ref} was refused, and runs: it is looked at again.", 0.5)
            step = undoing(scene)
            if step is None:
                return refusal
            if refused is not None and _alike(refused.scene, scene):
                return Failed(f"{refusal.why} What was made for it is there still: {refused.result.why}", False)
            if not warrant.may():
                return NotYet("Nothing may be touched just now.", 1.0)
            result = self._change(step)
            refused = None if result is None else Refusal(scene, result)
        return NotYet("What was made does not go away; somebody else is at it.", 1.0)

    def _carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        refused: Refusal | None = None
        started, removed = "", False
        for _ in range(CHANGES_MOST):
            scene = self._look(errand, warrant)
            if refused is not None and _alike(refused.scene, scene):
                return refused.result
            step = decide(errand, scene)
            if not isinstance(step, EngineCall):
                return _by_us(step) if removed else step
            if step.path == started:  # nobody is helped by starting it over and over
                ended = Failed(f"{scene.ref} ended as soon as it was started.", False)
                return ended if refused is None else refused.result
            started = step.path if step.path.endswith("/start") else started
            if not warrant.may():
                return NotYet("Nothing may be touched just now.", 1.0)
            result = self._change(step)
            removed = removed or (result is None and step.method == "DELETE" and step.path.startswith("/containers/"))
            if _is_left_behind(errand, scene, step, result) and scene.new is not None and warrant.may():
                result, started = self._change(removal(scene.new, scene.target)), ""
            refused = None if result is None else Refusal(scene, result)
        return NotYet("The container does not stay as it was seen; somebody else is at it.", 1.0)

    def _change(self, change: EngineCall) -> Failed | NotYet | None:
        """What to say if nothing has changed by it; ``None`` where the engine says that it did as asked."""
        answer = self._at(change.host).ask(
            change.method, change.path, change.query, change.body, more_seconds=change.more_seconds
        )
        if answer.fine:
            return None
        why = f"The engine at {change.host} would not {change.words}: {answer.words()}"
        if answer.status == 409 or any(words in why for words in _BUSY):
            return NotYet(why, 0.5)
        return Failed(why, answer.status in (400, 404) or any(words in why for words in _FOR_GOOD))

    def _look(self, errand: Errand, warrant: Warrant) -> Scene:
        ref = ref_of(errand)
        thought = errand.host or self._whereabouts(ref, errand) or errand.to
        target = errand.to or thought
        there = self._at(target)
        new = self._made_by(there, ref, errand)
        source, old, in_way = self._old_of(errand, ref, thought, target, new)
        here, moved = self._at(source), source != thought
        if errand.kind is ErrandKind.DELETE:
            new = next(self._left_of(there, ref), None)
        volumes = self._volumes_of(errand, ref, here, there, is_made=old is not None or new is not None)
        unsure = not _is_awake(new) and (old is None or (moved and new is None and not _is_awake(old)))
        return Scene(
            ref=ref,
            source=source,
            target=target,
            one_socket=here is there,
            dialect=there.dialect(),
            old=old,
            new=new,
            volumes=volumes,
            blueprint=self._blueprints.get(errand.blueprint),
            again=warrant.again,
            left=warrant.left() if errand.kind is ErrandKind.PAUSE else 0.0,
            gone=defined(errand.definition) if old is None and new is None else None,
            elsewhere=target if _is_awake(in_way) else self._elsewhere(errand, ref, here, there) if unsure else "",
            in_way=in_way,
        )

    def _old_of(
        self, errand: Errand, ref: str, source: str, target: str, new: Container | None
    ) -> tuple[str, Container | None, Container | None]:
        """Where the machine is that was there when the errand came; that machine; and what else has its name at the
        target. A host that is off is not asked."""
        here, there = self._at(source), self._at(target)
        taken = None if here is there else _but(new, self._inspect(there, ref))
        if errand.source_off:
            return source, None, taken
        old = _but(new, self._inspect(here, ref))
        may_be_it = new is not None or _is_awake(taken) or not (taken and is_anothers(taken, errand))
        if old is None and taken is not None and may_be_it:
            return target, taken, None  # somebody has taken it there; off by then, if this errand has stopped it
        aside = name_aside(ref, "old", errand.id)
        old = old or self._inspect(here, aside)
        put_aside = None if old is not None or here is there else self._inspect(there, aside)
        return (source, old, taken) if put_aside is None else (target, put_aside, taken)

    def _elsewhere(self, errand: Errand, ref: str, *looked_at: EngineSocket) -> str:
        """Look at all other hosts before a missing container is made anew: somebody may have it running there.

        Returns that host, or an empty text. Raises ``EngineFault`` where a host that may have it does not answer,
        unless its own host is known to be off: it was listed there last.
        """
        if errand.kind not in (ErrandKind.START, ErrandKind.REDEPLOY, ErrandKind.REIMAGE):
            return ""
        passed = (errand.host, *errand.unheard) if errand.source_off else ()
        for host, at in self._sockets.items():
            if at in looked_at or host in errand.off_at or host in passed:
                continue
            if host in errand.unheard:
                raise EngineFault(f"{host} does not answer, so {ref} may run there.")
            if _is_awake(self._inspect(at, ref)):
                return host
        return ""

    def _whereabouts(self, ref: str, errand: Errand) -> str:
        """The host of a machine that the region has at none. A new one does not wait for hosts that are silent."""
        for host, at in self._sockets.items():
            try:
                found = self._inspect(at, ref)
            except EngineFault:
                if errand.kind is not ErrandKind.CREATE or host == errand.to:
                    raise
                continue
            if found is not None and self._host_of(at, found.labels) == host:
                return host
        return ""

    def _made_by(self, at: EngineSocket, ref: str, errand: Errand) -> Container | None:
        """The container that this errand made for this machine. One that only copies its labels has another name."""
        if errand.kind not in (ErrandKind.CREATE, ErrandKind.START, ErrandKind.REDEPLOY, ErrandKind.REIMAGE):
            return None
        names = {f"/{ref}", f"/{name_aside(ref, 'new', errand.id)}"}
        rows = self._rows(at, {"label": [f"{ERRAND_LABEL}={errand.id}"]})
        return next((self._inspect(at, row["Id"]) for row in rows if names & set(row.get("Names") or ())), None)

    def _left_of(self, at: EngineSocket, ref: str) -> Iterator[Container]:
        """Containers that an errand put aside, or began to make, before a person asked for all to go."""
        for row in self._rows(at, {}):
            for name in row.get("Names") or ():
                if is_aside(name) and name.removeprefix("/").rpartition(".forewarn-")[0] == ref:
                    found = self._inspect(at, row["Id"])
                    if found is not None:
                        yield found

    def _volumes_of(
        self, errand: Errand, ref: str, here: EngineSocket, there: EngineSocket, *, is_made: bool
    ) -> tuple[str, ...]:
        """Those that are to be removed with it; of one that is not made yet, those of its blueprint that are there."""
        if errand.kind is ErrandKind.DELETE:
            return self._volumes_with(here, VM_LABEL, errand.vm_id)
        blueprint = self._blueprints.get(errand.blueprint)
        if is_made or blueprint is None:
            return ()
        return tuple(name for name in volumes_of(blueprint, ref) if there.ask("GET", f"/volumes/{name}").status != 404)

    def _volumes_with(self, at: EngineSocket, label: str, value: str) -> tuple[str, ...]:
        if not value:
            return ()
        wanted = json.dumps({"label": [f"{label}={value}"]})
        told = _fine(at.ask("GET", "/volumes", {"filters": wanted})).value() or {}
        return tuple(volume["Name"] for volume in told.get("Volumes") or ())

    def abandon(self, errand: Errand) -> None:
        """Only a pause is worth it: a container that stands still is the one thing that harms by being left."""
        if errand.kind is not ErrandKind.PAUSE:
            return
        at = self._at(errand.host)
        found = self._inspect(at, errand.ref)
        if found is not None and found.power is MachinePower.PAUSED:
            at.ask("POST", f"/containers/{found.id}/unpause")

    def listing(self, host: str) -> Listing:
        """All containers but those that stand aside for an errand and are off."""
        at = self._at(host)
        try:
            rows = [row for row in self._rows(at, {}) if self._host_of(at, row.get("Labels") or {}) == host]
            found = [self._inspect(at, row["Id"]) for row in rows]
        except EngineFault as fault:
            raise EngineFault(f"Host {host}: {fault}") from None
        there = [each for each in found if each is not None]
        shown = [each for each in there if not is_aside(each.name) or each.power is not MachinePower.OFF]
        return Listing(host, True, tuple(each.seen(host, definition=definition_of(each)) for each in shown))

    def _host_of(self, at: EngineSocket, labels: Mapping[str, str]) -> str:
        sharing = [name for name, other in self._sockets.items() if other is at]
        label = labels.get(HOST_LABEL, "")
        return label if label in sharing else sharing[0]

    def changes(self, host: str, cursor: str) -> Iterator[str]:
        """One hint when watching begins, as something may have been missed; then one for each event of a container."""
        at = self._at(host)
        yield cursor or "0"
        for told in at.stream("/events", {"filters": json.dumps({"type": ["container"]})}):
            action = str(told.get("Action") or told.get("status") or "")
            if not action.startswith(("exec", "health_status", "top", "attach", "resize")):
                yield str(told.get("timeNano") or told.get("time") or "0")

    def adopt(self, host: str, ref: str, vm: str, vm_id: str) -> None:
        """A container cannot be marked once it is there; the region knows it by its name."""
        self._need(host, ref)

    def release(self, host: str, ref: str) -> None:
        """Nothing was marked."""

    def examine(self, host: str, ref: str, way: Way) -> tuple[Finding, ...]:
        container, at = self._need(host, ref), self._at(host)
        found = [self._inspect(at, row["Id"]) for row in self._rows(at, {}) if row["Id"] != container.id]
        others = [each for each in found if each is not None]
        return examined(container, way, others, several_engines=len(set(self._sockets.values())) > 1)

    def close(self) -> None:
        for at in self._sockets.values():
            at.close()

    def _at(self, host: str) -> EngineSocket:
        found = self._sockets.get(host)
        if found is None:
            raise EngineFault(f"The engine {self._name} has no host named {host!r}; see [[host]] in the region file.")
        return found

    def _need(self, host: str, ref: str) -> Container:
        found = self._inspect(self._at(host), ref)
        if found is None:
            raise EngineFault(f"There is no container {ref} at {host}.")
        return found

    def _rows(self, at: EngineSocket, filters: dict[str, list[str]]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = (
            _fine(at.ask("GET", "/containers/json", {"all": "1", "filters": json.dumps(filters)})).value() or []
        )
        return rows

    def _inspect(self, at: EngineSocket, name: str) -> Container | None:
        """By its whole name or id; an engine would take the beginning of an id too."""
        answer = at.ask("GET", f"/containers/{name}/json")
        if answer.status == 404:
            return None
        found = container_of(_fine(answer).value())
        if name not in (found.name, found.id):
            return None
        if found.power is MachinePower.OFF and found.why is SeenWhy.UNKNOWN and not at.dialect().podman:
            return structs.replace(found, why=_why_killed(at, found))
        return found


def _by_us(result: ErrandResult) -> ErrandResult:
    """Say of a container that is gone that this call has removed it, so that it is at no other host."""
    if isinstance(result, Done) and result.sighting.power is MachinePower.GONE:
        return Done(structs.replace(result.sighting, why=SeenWhy.ASKED))
    return result


def _is_awake(container: Container | None) -> bool:
    return container is not None and container.power is not MachinePower.OFF


def _but(new: Container | None, found: Container | None) -> Container | None:
    """What was found, unless it is what the errand made."""
    return None if new is not None and found is not None and found.id == new.id else found


def _alike(one: Scene, other: Scene) -> bool:
    """Whether nothing moved between two looks."""
    first, second = ([_state(each) for each in (scene.old, scene.new, scene.in_way)] for scene in (one, other))
    return first == second and one.volumes == other.volumes


def _state(container: Container | None) -> tuple[object, ...]:
    if container is None:
        return ()
    return (container.id, container.name, container.power, container.boot_mark, container.policy, container.networks)


def _why_killed(at: EngineSocket, container: Container) -> SeenWhy:
    """Whether the engine was asked for the signal that ended the container: dockerd keeps that as an event.

    podman does not tell it.
    """
    state = container.told["State"]
    since, until = _instant(state["StartedAt"]), _instant(state["FinishedAt"]) + 1
    filters = {"type": ["container"], "container": [container.id], "event": ["kill"]}
    query = {"since": str(int(since)), "until": str(int(until)), "filters": json.dumps(filters)}
    lines = _fine(at.ask("GET", "/events", query)).body.splitlines()
    times = [json.loads(line).get("timeNano", 0) / 1e9 for line in lines if line.strip()]
    return SeenWhy.ASKED if any(since - 0.001 <= told for told in times) else SeenWhy.CRASH


def _instant(text: str) -> float:
    """An engine writes nine digits after the point, or fewer; Python reads six."""
    whole, _, rest = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{whole}+00:00").timestamp() + float(f"0.{rest or 0}")


def _fine(answer: EngineAnswer) -> EngineAnswer:
    if not answer.fine:
        raise EngineFault(f"The engine would not say what is there: {answer.words()}")
    return answer


def _is_left_behind(errand: Errand, scene: Scene, step: EngineCall, result: Failed | NotYet | None) -> bool:
    """Whether a container that this errand made can never be started, and never was: it is made once more then."""
    new = scene.new
    if errand.kind is not ErrandKind.CREATE or new is None or not step.path.endswith("/start"):
        return False
    return isinstance(result, Failed) and _HALF_STARTED in result.why and new.told["State"]["Status"] == "created"

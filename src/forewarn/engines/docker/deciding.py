"""What is to be done next to a container, from what was seen: pure. Each errand is a wanted state, not a verb.

So whoever asks again, after a crash at any instant, goes on from where things are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from forewarn.core.machines.values import Errand, ErrandKind, MachinePower, Sighting
from forewarn.engines.docker.calls import Dialect
from forewarn.engines.docker.containers import VM_LABEL, Container, name_aside
from forewarn.engines.docker.making import (
    NO_POLICY,
    Blueprint,
    endpoint,
    from_blueprint,
    kept_policy,
    labels_of,
    like,
    local_volumes,
    name_of,
    volumes_of,
)
from forewarn.plane.hands.engine import Done, ErrandResult, Failed, NotYet


class EngineCall(Struct, frozen=True):
    """One call that changes something."""

    words: str  # what it does: "stop web-0"
    host: str  # at whose socket
    method: str
    path: str
    query: Mapping[str, str] = {}
    body: Any = None
    more_seconds: float = 0.0


class Scene(Struct, frozen=True):
    """What was seen for one errand."""

    ref: str
    source: str  # the host where the machine is
    target: str  # the host where it is to be
    one_socket: bool  # whether both are behind one
    dialect: Dialect  # of the target
    old: Container | None  # the machine, as it was when the errand came; also when it was put aside
    new: Container | None  # what this very errand made
    volumes: tuple[str, ...] = ()  # that are the VM's own; of one that is to be made, those that are there by now
    blueprint: Blueprint | None = None
    again: bool = False  # whether the errand was tried before
    left: float = 0.0  # seconds until a pause is over
    gone: Container | None = None  # what is known of a machine that is nowhere any more: its host was lost, or it is
    elsewhere: str = ""  # another host, where it runs: somebody has moved it
    in_way: Container | None = None  # another container of its name at the target


Next: TypeAlias = EngineCall | ErrandResult


def decide(errand: Errand, scene: Scene) -> Next:
    """The next change, or what has come of the errand."""
    return _BY_KIND[errand.kind](errand, scene)


def _create(errand: Errand, scene: Scene) -> Next:
    if scene.new is None:
        if scene.old is not None:
            return Failed(f"A container named {scene.ref} is at {scene.target} already, and it is another's.", True)
        if scene.blueprint is None:
            return Failed(f"No [[blueprint]] of this server is named {errand.blueprint!r}.", True)
        for volume in volumes_of(scene.blueprint, scene.ref):
            if volume not in scene.volumes:
                given = {"Name": volume, "Labels": labels_of(errand, scene.target)}
                return EngineCall(f"make the volume {volume}", scene.target, "POST", "/volumes/create", body=given)
        body = from_blueprint(scene.blueprint, errand, scene.ref, scene.target)
        return EngineCall(f"create {scene.ref}", scene.target, "POST", "/containers/create", {"name": scene.ref}, body)
    return _running(scene.new, scene.target, scene.ref)


def _start(errand: Errand, scene: Scene) -> Next:
    if scene.elsewhere:
        return _runs_elsewhere(scene)
    if scene.new is not None or scene.gone is not None or (scene.old is not None and scene.source != scene.target):
        return _replace(errand, scene)
    return _missing(scene) if scene.old is None else _running(scene.old, scene.source, scene.ref)


def _stop(errand: Errand, scene: Scene) -> Next:
    if scene.old is None:
        return _missing(scene)
    return _off(errand, scene.old, scene.source) or Done(scene.old.seen(scene.source, scene.ref))


def _turn_off(errand: Errand, scene: Scene) -> Next:
    """A copy that is no VM's must not be there; its volumes stay, for they may be another's by now."""
    if errand.vm:
        return _stop(errand, scene)
    if scene.old is None:
        return Done(Sighting(ref=scene.ref, host=scene.source, power=MachinePower.GONE))
    return EngineCall(
        f"remove {scene.old.name}", scene.source, "DELETE", f"/containers/{scene.old.id}", {"force": "1", "v": "0"}
    )


def _restart(errand: Errand, scene: Scene) -> Next:
    """Off, then on. Not the engine's own restart: asked again while that is under way, it boots a second time."""
    old = scene.old
    if old is None:
        return _missing(scene)
    if old.power is not MachinePower.OFF and old.boot_mark == errand.boot_mark:
        off = _off(errand, old, scene.source)
        assert off is not None
        return off
    return _running(old, scene.source, scene.ref)


def _pause(errand: Errand, scene: Scene) -> Next:
    """The one errand with an edge: begun once at most, ended as often as is needed."""
    old = scene.old
    if old is None:
        return _missing(scene)
    if old.power is MachinePower.PAUSED:
        if scene.left > 0:
            return NotYet(f"{scene.ref} is paused.", scene.left)
        return _post("unpause", old, scene.source)
    if old.power is MachinePower.OFF:
        return Failed(f"{scene.ref} is off, so it cannot be paused.", True)
    if scene.left <= 0:
        return Done(old.seen(scene.source, scene.ref))
    if scene.again:
        return NotYet(f"{scene.ref} runs; its pause was asked for before and is not begun again.", scene.left)
    return _post("pause", old, scene.source)


def _delete(_errand: Errand, scene: Scene) -> Next:
    """What is left of an earlier errand goes too, and the volumes that were made for it."""
    for container, host in ((scene.old, scene.source), (scene.new, scene.target)):
        if container is not None:
            return removal(container, host)
    for volume in scene.volumes:
        return _volume_removal(volume, scene.source)
    return Done(Sighting(ref=scene.ref, host=scene.source, power=MachinePower.GONE))


def _replace(errand: Errand, scene: Scene) -> Next:
    """A new container takes the old one's place: made first, started when the old one is off, which goes last."""
    old, new = scene.old, scene.new
    if scene.elsewhere:
        return _runs_elsewhere(scene)
    if scene.in_way is not None:  # before anything is stopped: the new one cannot have the name
        return _make_way(errand, scene, scene.in_way)
    if new is None:
        return _make_like(errand, scene)
    if old is not None:
        missing = next((name for name in old.networks if name not in new.networks), None)
        if missing is not None and new.power is MachinePower.OFF and new.networks:
            body = {"Container": new.id, "EndpointConfig": endpoint(old, missing)}
            return EngineCall(
                f"connect {scene.ref} to {missing}", scene.target, "POST", f"/networks/{missing}/connect", body=body
            )
        ended = _end_for_good(errand, scene, old)
        if ended is not None:
            return ended
    if new.name != scene.ref:
        return _post("rename", new, scene.target, {"name": scene.ref})
    if new.power is not MachinePower.RUNNING:
        return _running(new, scene.target, scene.ref)
    if old is not None:
        return removal(old, scene.source)
    owed = kept_policy(new)
    if owed is not None:
        return _post("update", new, scene.target, body={"RestartPolicy": owed})
    return Done(new.seen(scene.target))


def _make_way(errand: Errand, scene: Scene, in_way: Container) -> Next:
    """A copy of this very VM that is off goes. Another's is a person's to judge, and where the errand has begun already
    it goes on once that is done."""
    if errand.vm_id and in_way.labels.get(VM_LABEL) == errand.vm_id:
        return removal(in_way, scene.target)
    return Failed(
        f"Another container named {scene.ref} is at {scene.target}, off, and no label says that it is this VM's: "
        "rename or remove it there, then ask again.",
        scene.new is None,
    )


def _make_like(errand: Errand, scene: Scene) -> Next:
    old = scene.old or scene.gone
    if old is None and scene.blueprint is not None:
        return _create(errand, scene)
    if old is None:
        return _missing(scene)
    stay = local_volumes(old)
    if stay and (not scene.one_socket or errand.source_off):
        return Failed(f"{scene.ref} cannot leave {scene.source}: its volume {stay[0]} is there and nowhere else.", True)
    name = name_aside(scene.ref, "new", errand.id)
    body = like(old, errand, scene.target, scene.dialect)
    return EngineCall(f"create {scene.ref} anew", scene.target, "POST", "/containers/create", {"name": name}, body)


def _end_for_good(errand: Errand, scene: Scene, old: Container) -> Next | None:
    """The old container is off, does not come back by itself, and its name is free."""
    if old.policy != "no" and not scene.dialect.podman:
        return _post("update", old, scene.source, body={"RestartPolicy": NO_POLICY})
    off = _off(errand, old, scene.source)
    if off is not None:
        return off
    if scene.one_socket and old.name == scene.ref:
        return _post("rename", old, scene.source, {"name": name_aside(scene.ref, "old", errand.id)})
    return None


def _running(container: Container, host: str, ref: str) -> Next:
    if container.power is MachinePower.RUNNING:
        return Done(container.seen(host, ref))
    return _post("unpause" if container.power is MachinePower.PAUSED else "start", container, host)


def _off(errand: Errand, container: Container, host: str) -> EngineCall | None:
    """A paused container hears no signal, so it goes on first."""
    if container.power is MachinePower.OFF:
        return None
    if container.power is MachinePower.PAUSED:
        return _post("unpause", container, host)
    grace = errand.grace.total_seconds()
    return _post("stop", container, host, {"t": _whole(grace)}, more_seconds=grace)


def undoing(scene: Scene) -> EngineCall | None:
    """What is still to be removed of an errand that could not make its machine: the container, then its volumes."""
    if scene.new is not None:
        return removal(scene.new, scene.target)
    return next((_volume_removal(volume, scene.target) for volume in scene.volumes), None)


def removal(container: Container, host: str) -> EngineCall:
    """With its anonymous volumes; named ones stay."""
    query = {"force": "1", "v": "1"}
    return EngineCall(f"remove {container.name}", host, "DELETE", f"/containers/{container.id}", query)


def _volume_removal(volume: str, host: str) -> EngineCall:
    return EngineCall(f"remove the volume {volume}", host, "DELETE", f"/volumes/{volume}")


def _post(
    verb: str,
    container: Container,
    host: str,
    query: Mapping[str, str] | None = None,
    body: Any = None,
    more_seconds: float = 0.0,
) -> EngineCall:
    path = f"/containers/{container.id}/{verb}"
    return EngineCall(f"{verb} {container.name}", host, "POST", path, query or {}, body, more_seconds)


def _missing(scene: Scene) -> Failed:
    return Failed(f"There is no container {scene.ref} at {scene.source}.", True)


def _runs_elsewhere(scene: Scene) -> Failed:
    return Failed(f"{scene.ref} runs at {scene.elsewhere}: it is started nowhere else.", False)


def _whole(seconds: float) -> str:
    return str(int(-(-seconds // 1)))


def is_anothers(container: Container, errand: Errand) -> bool:
    """Whether its label names another VM. One that forewarn did not make has none: its name says whose it is."""
    return container.labels.get(VM_LABEL, "") not in ("", errand.vm_id)


def ref_of(errand: Errand) -> str:
    """By which name the engine knows, or will know, the machine."""
    return errand.ref or name_of(errand.vm)


_BY_KIND = {
    ErrandKind.CREATE: _create,
    ErrandKind.START: _start,
    ErrandKind.STOP: _stop,
    ErrandKind.OFF: _turn_off,
    ErrandKind.DELETE: _delete,
    ErrandKind.RESTART: _restart,
    ErrandKind.PAUSE: _pause,
    ErrandKind.REDEPLOY: _replace,
    ErrandKind.REIMAGE: _replace,
}
KINDS = frozenset(_BY_KIND)

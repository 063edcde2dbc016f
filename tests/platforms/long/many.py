"""A hundred containers on one dockerd: made, frozen together and deleted, while dockerd and forewarn are killed."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tests.platforms.docker.agents import ContainerRegion, container_region
from tests.platforms.docker.daemons import IMAGE, Daemon, daemon
from tests.platforms.long.tally import Tally, early
from tests.waiting import until

COUNT = 100
_TURNS = 10  # of a minute each: a hundred containers take dockerd with storage by copying some fifty seconds
_LIFE = "echo boot >>/boots/$HOSTNAME; trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"


def hundred(folder: Path, tally: Tally) -> None:
    """What came of it is a line of the tally, and a row of figures."""
    name = f"{COUNT} containers, dockerd and forewarn killed"
    with daemon("dockerd", folder / "engine") as engine:
        boots = folder / "hundred"
        boots.mkdir()
        with container_region(engine, folder, tables=_blueprint(boots)) as region:
            try:
                tally.troubles[name] = f"ok, {_live(region, engine, boots, tally)}"
            except AssertionError as wrong:
                tally.troubles[name] = f"NOT SO: {str(wrong).splitlines()[0]}"
            print(f"{name}: {tally.troubles[name]}", flush=True)


def _live(region: ContainerRegion, engine: Daemon, boots: Path, tally: Tally) -> str:
    begun = time.monotonic()
    region.forewarn("vm", "create", "many", "--count", str(COUNT), "--blueprint", "many")
    until(lambda: len(_running(engine)) > 10, "some of them to run", region.logs)
    engine.kill()
    engine.start()
    _patiently(lambda: len(_running(engine)) == COUNT, "all of them to run", region)
    made = time.monotonic() - begun
    _patiently(lambda: len(region.ended("create")) == COUNT, "all to be known to run", region)

    begun = time.monotonic()
    for host in ("rack-1", "rack-2"):
        region.forewarn("host", "maintain", host, "--kind", "freeze")
    until(lambda: len(_in(engine, "paused")) > 10, "some of them to stand", region.logs)
    engine.kill()
    engine.start()
    region.restart()
    _patiently(lambda: len(region.ended("pause")) == COUNT, "all pauses to be over", region)
    _patiently(lambda: len(_running(engine)) == COUNT, "all of them to go on", region)
    frozen = time.monotonic() - begun
    forgotten = _in(engine, "paused")
    tally.forgotten += [f"{each} of {COUNT} containers" for each in forgotten]
    twice = [each.name for each in boots.iterdir() if len(each.read_text().splitlines()) > 1]
    tally.twice += [f"{each} of {COUNT} containers was started twice" for each in twice]
    tally.early += [f"of {COUNT} containers: {each}" for each in early(region.facts())]
    assert len(list(boots.iterdir())) == COUNT, "not each has said that it began"

    names = [each["name"] for each in json.loads(region.forewarn("vm", "list", "--json"))]
    begun = time.monotonic()
    region.forewarn("vm", "delete", *names)
    _patiently(lambda: engine.names() == ["anchor"], "all of them to be gone", region)
    gone = time.monotonic() - begun
    return (
        f"made in {made:.0f} s, all frozen for 9 s and back in {frozen:.0f} s, deleted in {gone:.0f} s; started "
        f"twice: {len(twice)}, left paused: {len(forgotten)}"
    )


def _in(engine: Daemon, state: str) -> list[str]:
    rows = engine.do("GET", "/containers/json", {"all": "1"})
    return [name for row in rows if row["State"] == state for name in row["Names"][:1] if "many" in name]


def _running(engine: Daemon) -> list[str]:
    return _in(engine, "running")


def _patiently(look: object, what: str, region: ContainerRegion) -> None:
    assert callable(look)
    for turn in range(_TURNS):
        try:
            until(look, what, region.logs)
            return
        except AssertionError:
            if turn == _TURNS - 1:
                raise


def _blueprint(boots: Path) -> str:
    return (
        f'[[blueprint]]\nname = "many"\nengine = "local"\nimage = "{IMAGE}"\nnetwork = "none"\n'
        f'command = ["/bin/sh", "-c", {json.dumps(_LIFE)}]\nmounts = ["{boots}:/boots"]\n'
    )

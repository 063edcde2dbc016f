"""How long it takes with a real guest: ``python -m tests.platforms.libvirt.figures [ROUNDS]`` prints medians.

One virtual machine under QEMU's emulation with the agent inside, two hosts, a node at each, PostgreSQL. Times are those
of the journal, but for the agent's return, which is when it has read its document again.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from forewarn.engines.libvirt.binding import libvirt
from forewarn.engines.libvirt.engine import LibvirtEngine
from tests.platforms.docker.figures import one_life
from tests.platforms.libvirt.bench import libvirt_bench
from tests.platforms.libvirt.binding import put_binding
from tests.platforms.libvirt.daemons import Daemon, two_hosts
from tests.platforms.libvirt.region import MachineRegion, machine_region
from tests.platforms.libvirt.vms import Guest, clear, on_bridge, virsh
from tests.platforms.measuring import between, idle_cost, longest_gap
from tests.waiting import until

_NAME = "web-0"


_STOPPED = re.compile(r"^([\d-]+ [\d:.]+\+0000): shutting down", re.M)
_DOWNTIME = re.compile(r"^(?:Total )?[Dd]owntime:\s+([\d.]+)\s+ms", re.M)


def off_at(region: MachineRegion) -> datetime:
    """When its last QEMU ended, as libvirt's own logs have it."""
    logs = (each.folder / f"log/qemu/{_NAME}.log" for each in region.daemons.values())
    found = [word for log in logs if log.exists() for word in _STOPPED.findall(log.read_text(errors="replace"))]
    return max(datetime.strptime(each, "%Y-%m-%d %H:%M:%S.%f%z") for each in found)


def downtime(region: MachineRegion, host: str) -> float:
    """Of the last migration to that host, as libvirt measured it."""
    found = _DOWNTIME.search(virsh(region.daemons[host], "domjobinfo", _NAME, "--completed"))
    return float(found.group(1)) / 1000 if found else float("nan")


def round_of(region: MachineRegion, guest: Guest, boots: int) -> dict[str, float]:
    """One Reboot, one live migration, one Freeze."""
    found: dict[str, float] = {}
    at = len(region.facts())
    region.forewarn("vm", "restart", _NAME)
    guest.until("prepared Reboot", boots)
    approved = time.monotonic()
    guest.until_listening(boots + 1)
    found["approved, until the agent is back"] = time.monotonic() - approved
    guest.until("restored Reboot", boots)
    facts = region.facts()[at:]
    found["announced, until approved inside"] = between(facts, "EventScheduled", "EventApproved")
    found["approved, until it was seen to run anew"] = between(facts, "EventApproved", "ErrandEnded")
    approved_at = next(each["at"] for each in facts if each["fact"] == "EventApproved")
    found["approved, until it was off"] = (off_at(region) - datetime.fromisoformat(approved_at)).total_seconds()

    source = str(region.machine(_NAME)["host"])
    at, migrations = len(region.facts()), len(region.ended("migrate"))
    target = next(host for host in region.daemons if host != source)
    here, there = (longest_gap(region.daemons[host].inside, "192.0.2.10") for host in (source, target))
    with here as before, there as after:
        region.forewarn("host", "maintain", source, "--kind", "live-migration")
        region.until_ended(migrations + 1, "migrate")
        moved = time.monotonic()
        until(lambda: target in region.running(_NAME), "it to run there")
        time.sleep(1.0)  # ten pings
    found["… from the last answer to a ping at the one bridge to the first at the other"] = after.first - before.last
    found["live migration, its downtime as libvirt measured it"] = downtime(region, str(region.machine(_NAME)["host"]))
    guest.until("restored Freeze", 2 * boots - 1)
    found["… seen there, until its agent has read there (3 s of recovery left out)"] = time.monotonic() - moved - 3.0
    found["live migration, until it was seen at the other host"] = between(
        region.facts()[at:], "ErrandMade", "ErrandEnded"
    )

    source = str(region.machine(_NAME)["host"])
    at, pauses = len(region.facts()), len(region.ended("pause"))
    with longest_gap(region.daemons[source].inside, "192.0.2.10") as peer:
        region.forewarn("host", "maintain", source, "--kind", "freeze")
        region.until_ended(pauses + 1, "pause")
    found["freeze, as a peer that pings it sees it"] = peer.seconds
    guest.until("restored Freeze", 2 * boots)
    found["freeze, until it was seen to run"] = between(region.facts()[at:], "ErrandMade", "ErrandEnded")
    stood = [int(line.split()[3]) for line in guest.told() if line.startswith("stood still")]
    found["freeze, as the guest's real-time clock tells it"] = float(stood[-1]) if stood else 0.0
    return found


def listings(daemons: dict[str, Daemon]) -> None:
    """Of machines that are defined and off; one that runs costs a look at its definition more."""
    engine = LibvirtEngine("metal", [daemons["alpha"].host], time.monotonic, {}, disks_are_shared=True)
    text = "<domain type='qemu'><name>off-{0}</name><memory>1024</memory><os><type>hvm</type></os></domain>"
    connection = libvirt().open(daemons["alpha"].host.uri)
    for number in range(1000):
        connection.defineXML(text.format(number))
        if number + 1 in (100, 1000):
            times = []
            for _ in range(5):
                begun = time.monotonic()
                engine.listing("alpha")
                times.append(time.monotonic() - begun)
            print(f"listing of {number + 1}: {1000 * statistics.median(times):.0f} ms", flush=True)
    engine.close()
    connection.close()


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    told: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="fw-") as place, two_hosts(Path(place) / "hosts") as daemons:
        folder = Path(place)
        (folder / "calls").mkdir()
        if why := put_binding(folder):
            print(f"not run: {why}")
            return 1
        with machine_region(daemons, folder, folder / "binding") as region:
            guest = Guest(_NAME, folder, *on_bridge(10))
            begun = time.monotonic()
            guest.start(daemons["alpha"])
            region.adopt(guest, "alpha")
            guest.until_listening()
            print(f"started, until its agent has read its document: {time.monotonic() - begun:.2f} s", flush=True)
            for number in range(rounds):
                told.append(round_of(region, guest, number + 1))
                print(f"round {number + 1} of {rounds}", flush=True)
            kilobytes, share = idle_cost(region.nodes["alpha"].process.pid)
            print(f"a node with one machine: {kilobytes} KiB, {share:.2f} % of a core when idle", flush=True)
            clear(daemons)
        with libvirt_bench(daemons, folder / "calls") as bench:
            lives = [one_life(bench) for _ in range(rounds)]
        for name in lives[0].keys() - {"redeploy"}:  # at its own host that is the restart, which was just done
            print(f"{name}: {1000 * statistics.median(life[name] for life in lives):.0f} ms", flush=True)
        listings(daemons)
    for name in told[0]:
        values = sorted(each[name] for each in told)
        print(f"{name}: {statistics.median(values):.2f} s ({values[0]:.2f} to {values[-1]:.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``make machines``: what is done to real machines is killed in the middle, again and again, and a table is kept.

python -m tests.platforms.long [--minutes 20] [--instants 5] [--kinds restart,...] [--victims node,...]
                               [--only kills,troubles,restored,hundred]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.platforms.libvirt.binding import put_binding
from tests.platforms.libvirt.daemons import two_hosts
from tests.platforms.libvirt.region import MachineRegion, machine_region
from tests.platforms.libvirt.vms import Guest, clear, on_bridge
from tests.platforms.long import jobs
from tests.platforms.long.kills import INSTANTS, NAME, case
from tests.platforms.long.many import hundred
from tests.platforms.long.restored import twenty
from tests.platforms.long.tally import KINDS, VICTIMS, Tally, is_a_case
from tests.platforms.long.troubles import all_of_them, blueprint, lay_pool, open_pool

_QUICK = ("--notice-freeze", "1s", "--notice-live-migration", "1s")
_PARTS = ("kills", "troubles", "restored", "hundred")


def kills(region: MachineRegion, args: argparse.Namespace, tally: Tally) -> None:
    """All cases, one after another; every kind and victim at one instant before the next instant."""
    ends = time.monotonic() + 60 * args.minutes
    for instant in INSTANTS[: args.instants]:
        for kind in args.kinds.split(","):
            for victim in args.victims.split(","):
                if not is_a_case(kind, victim):
                    continue
                begun = time.monotonic()
                if begun > ends:
                    return
                known = set(tally.found)
                one = jobs.case if kind in jobs.JOBS else case
                one(region, kind, victim, instant, tally)
                print(f"{kind}, {victim} after {instant:g} s: {time.monotonic() - begun:.0f} s", flush=True)
                for each in set(tally.found) - known:
                    print(f"    {each}", flush=True)


def virtual_machines(folder: Path, args: argparse.Namespace, tally: Tally) -> None:
    pool = lay_pool(folder)
    try:
        with (
            two_hosts(folder / "hosts") as daemons,
            machine_region(
                daemons, folder, folder / "binding", *_QUICK, tables=blueprint(folder, pool), pool=pool
            ) as region,
        ):
            open_pool(region)
            nic, words = on_bridge(10)
            guest = Guest(NAME, folder, nic, f"{words} alone")
            guest.start(daemons["alpha"])
            guest.until("booted")
            region.adopt(guest, "alpha")
            if "troubles" in args.only:
                all_of_them(region, tally)
            if "restored" in args.only:
                twenty(region, tally)
            if "kills" in args.only:
                kills(region, args, tally)
            clear(daemons)
    finally:
        subprocess.run(["umount", "--lazy", str(pool)], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill what works on real machines, and keep a table.")
    parser.add_argument("--minutes", type=float, default=20.0, help="no kill begins after so many (20)")
    parser.add_argument("--instants", type=int, default=len(INSTANTS), help="how many instants of each (5)")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--victims", default=",".join(VICTIMS))
    parser.add_argument("--only", default=",".join(_PARTS), help="which parts")
    args = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="fw-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        if why := put_binding(folder):
            print(f"not run: {why}")
            return 1
        try:
            if {"kills", "troubles", "restored"} & set(args.only.split(",")):
                virtual_machines(folder, args, tally)
            if "hundred" in args.only:
                (folder / "many").mkdir()
                hundred(folder / "many", tally)
        finally:  # whatever ends it, what was counted is told
            print(tally.table(), flush=True)
    return 0 if tally.is_fine else 1


if __name__ == "__main__":
    sys.exit(main())

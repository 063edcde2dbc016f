"""Virtual machines of a Proxmox VE cluster as machines for forewarn: restart, pause, stop, start, live migration.

NEVER RUN AGAINST A REAL CLUSTER: written from Proxmox's published API (https://pve.proxmox.com/pve-docs/api-viewer/),
and tested against answers written from it. Try it with ``forewarn engine check --machine NODE/VMID`` on a VM that you
can do without, before you trust it.

    PVE_URL=https://pve1.example:8006 PVE_TOKEN_FILE=/etc/forewarn/pve.token \\
        python proxmox_engine.py --unix /run/forewarn-pve.sock

The token file holds ``USER@REALM!NAME=UUID``; it needs VM.Audit, VM.PowerMgmt, VM.Migrate and Sys.Audit. A machine's
name is its VMID. What Proxmox does takes a task (a UPID): while that runs, an errand is under way.

VMs that Proxmox's HA manager looks after are refused: it would start what forewarn stops, and move what it moves.
A live migration starts a new QEMU process; that its memory is the old one's is remembered here, and in the file
PVE_MARKS if you name one. Without it, after this program was started anew, such a VM counts as booted once more.
"""

from __future__ import annotations

import json
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from engine_server import Change, Platform, Refused, Seen, Step, Unsure, Waiting, main

CALL_SECONDS = 20.0  # for one answer of the API


class ProxmoxApi:
    """The few calls that are needed."""

    def __init__(self, url: str, token_file: str, ca: str = "") -> None:
        self._url, self._token_file = url.rstrip("/"), token_file
        self._tls = ssl.create_default_context(cafile=ca or None) if url.startswith("https:") else None
        self._open = urllib.request.urlopen

    def call(self, method: str, path: str, **values: Any) -> Any:
        body = urllib.parse.urlencode(values).encode() if values else (b"" if method == "POST" else None)
        request = urllib.request.Request(f"{self._url}/api2/json{path}", body, method=method)  # noqa: S310 - the owner's address
        request.add_header("Authorization", f"PVEAPIToken={Path(self._token_file).read_text().strip()}")
        try:
            with self._open(request, timeout=CALL_SECONDS, context=self._tls) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refusal:
            with refusal:
                if refusal.code >= 500 and "does not exist" not in str(refusal.reason):
                    raise Unsure(f"Proxmox answers {refusal.code}: {refusal.reason}") from None
                raise Refused(f"Proxmox refuses: {refusal.reason}", lasting=refusal.code in (400, 404, 500)) from None
        except (OSError, ValueError, KeyError) as fault:
            raise Unsure(f"Proxmox does not answer: {fault}") from None


class ProxmoxPlatform(Platform):
    """Hosts are nodes."""

    name = "Proxmox VE"
    kinds = ("restart", "pause", "stop", "start", "migrate")

    def __init__(self, api: ProxmoxApi, marks: str = "") -> None:
        super().__init__()
        self._api, self._file = api, Path(marks) if marks else None
        self._marks: dict[str, str] = json.loads(self._file.read_text()) if self._file and self._file.exists() else {}
        self._tasks: dict[str, str] = {}  # errand -> UPID
        self.hosts = tuple(sorted(node["node"] for node in api.call("GET", "/nodes")))

    # What is there

    def machines(self, host: str) -> tuple[bool, list[dict[str, Any]]]:
        rows = self._api.call("GET", f"/nodes/{host}/qemu?full=1")
        return True, [self._seen(host, row) for row in sorted(rows, key=lambda row: int(row["vmid"]))]

    def _look(self, host: str, ref: str) -> dict[str, Any] | None:
        """The VM's status at a node; None where it is not there."""
        if not ref.isdecimal() or host not in self.hosts:
            return None
        rows = self._api.call("GET", f"/nodes/{host}/qemu?full=1")
        if not any(str(row["vmid"]) == ref for row in rows):
            return None
        status: dict[str, Any] = self._api.call("GET", f"/nodes/{host}/qemu/{ref}/status/current")
        return status

    def _seen(self, host: str, row: dict[str, Any]) -> dict[str, Any]:
        power = "off" if row["status"] != "running" else "paused" if row.get("qmpstatus") == "paused" else "running"
        mark = "" if power == "off" else self._mark(host, row)
        return {"ref": str(row["vmid"]), "host": host, "power": power, "boot_mark": mark}

    def _mark(self, host: str, row: dict[str, Any]) -> str:
        """The QEMU process; after a live migration, the one in which its memory began."""
        now = f"{host}:{row['vmid']}:{row['pid']}"
        return self._marks.get(now, now)

    # What follows

    def next_step(self, errand: str, wanted: dict[str, Any]) -> Step:
        running = self._task(errand)
        if running is not None:
            return running
        ref, host = wanted.get("ref", ""), wanted.get("host", "")
        here, there = self._look(host, ref), None
        if wanted["kind"] in ("migrate", "start") and wanted.get("to") not in ("", None, host):
            there = self._look(wanted["to"], ref)
        if there is not None and here is None:
            return self._arrived(wanted, there)
        if here is None:
            raise Refused(f"There is no VM {ref} at {host}.")
        if (here.get("ha") or {}).get("managed"):
            raise Refused(f"VM {ref} is an HA resource of Proxmox: take it out of HA, or let HA look after it alone.")
        if here.get("lock"):
            return Waiting(f"VM {ref} is locked by Proxmox: {here['lock']}", 2.0)
        return getattr(self, f"_{wanted['kind']}")(errand, wanted, host, here)  # type: ignore[no-any-return]  # by name

    def _task(self, errand: str) -> Waiting | None:
        """What the errand's own task does; a task that failed says why."""
        upid = self._tasks.get(errand)
        if upid is None:
            return None
        told = self._api.call("GET", f"/nodes/{upid.split(':')[1]}/tasks/{upid}/status")
        if told["status"] == "running":
            return Waiting(f"Proxmox is at it: {upid}", 2.0)
        del self._tasks[errand]
        if told.get("exitstatus", "OK") != "OK" and not str(told["exitstatus"]).startswith("WARNINGS"):
            raise Refused(f"Proxmox's task failed: {told['exitstatus']}", lasting=False)
        return None

    def _do(self, errand: str, host: str, seen: dict[str, Any], verb: str, **values: Any) -> Change:
        """One POST that starts a task. Its words hold the process, so that an old leave fits no later one."""
        path = f"/nodes/{host}/qemu/{seen['ref']}/{'migrate' if verb == 'migrate' else f'status/{verb}'}"

        def make() -> None:
            self._tasks[errand] = self._api.call("POST", path, **values)

        return Change(f"{verb} {seen['ref']} at {host} ({seen['power']} {seen['boot_mark']})", make)

    def _start(self, errand: str, wanted: dict[str, Any], host: str, here: dict[str, Any]) -> Step:
        seen = self._seen(host, here)
        if wanted.get("to") not in ("", None, host):
            raise Refused(f"VM {seen['ref']} is at {host}: Proxmox starts it there.")
        if seen["power"] == "running":
            return Seen(seen)
        return self._do(errand, host, seen, "resume" if seen["power"] == "paused" else "start")

    def _stop(self, errand: str, wanted: dict[str, Any], host: str, here: dict[str, Any]) -> Step:
        seen = self._seen(host, here)
        if seen["power"] == "off":
            return Seen({**seen, "why": "asked"})
        if seen["power"] == "paused":
            return self._do(errand, host, seen, "resume")
        return self._do(errand, host, seen, "shutdown", timeout=max(1, int(wanted.get("grace", 60))), forceStop=1)

    def _restart(self, errand: str, wanted: dict[str, Any], host: str, here: dict[str, Any]) -> Step:
        seen = self._seen(host, here)
        if seen["power"] == "off" or seen["boot_mark"] != wanted.get("boot_mark"):
            return self._start(errand, {**wanted, "to": ""}, host, here)
        return self._stop(errand, wanted, host, here)  # and started when it was seen off: a reboot may do nothing

    def _pause(self, errand: str, wanted: dict[str, Any], host: str, here: dict[str, Any]) -> Step:
        seen, left = self._seen(host, here), float(wanted.get("left", 0))
        if seen["power"] == "off":
            raise Refused(f"VM {seen['ref']} is off, so it cannot be paused.")
        if seen["power"] == "paused":
            return Waiting("It is paused.", left) if left > 0 else self._do(errand, host, seen, "resume")
        if left <= 0:
            return Seen(seen)
        if wanted.get("again"):
            return Waiting("Its pause was asked for before, and is not begun again.", left)
        return self._do(errand, host, seen, "suspend")

    def _migrate(self, errand: str, wanted: dict[str, Any], host: str, here: dict[str, Any]) -> Step:
        seen = self._seen(host, here)
        if seen["power"] == "off":
            raise Refused(f"VM {seen['ref']} is off, so it cannot be moved alive.")
        return self._do(errand, host, seen, "migrate", target=wanted["to"], online=1)

    def _arrived(self, wanted: dict[str, Any], there: dict[str, Any]) -> Step:
        if wanted["kind"] == "migrate" and wanted.get("boot_mark") and there["status"] == "running":
            self._marks[f"{wanted['to']}:{there['vmid']}:{there['pid']}"] = wanted["boot_mark"]
            if self._file:
                self._file.write_text(json.dumps(self._marks))
        return Seen(self._seen(wanted["to"], there))

    def give_up(self, errand: str, wanted: dict[str, Any]) -> None:
        upid = self._tasks.pop(errand, "")
        if upid and wanted["kind"] == "migrate":
            self._api.call("DELETE", f"/nodes/{upid.split(':')[1]}/tasks/{upid}")
        here = self._look(wanted.get("host", ""), wanted.get("ref", ""))
        if here is not None and wanted["kind"] == "pause" and here.get("qmpstatus") == "paused":
            self._api.call("POST", f"/nodes/{wanted['host']}/qemu/{wanted['ref']}/status/resume")


if __name__ == "__main__":
    environment = os.environ
    api = ProxmoxApi(environment["PVE_URL"], environment["PVE_TOKEN_FILE"], environment.get("PVE_CA", ""))
    main(ProxmoxPlatform(api, environment.get("PVE_MARKS", "")))

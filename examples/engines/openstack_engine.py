"""Servers of an OpenStack cloud as machines for forewarn: restart, pause, stop, start, live migration, evacuation.

NEVER RUN AGAINST A REAL CLOUD: written from Nova's published API (https://docs.openstack.org/api-ref/compute/,
microversion 2.96), and tested against answers written from it. Try it with ``forewarn engine check --machine
HOST/SERVER-ID`` on a server that you can do without, before you trust it.

    OS_COMPUTE_URL=https://cloud.example:8774/v2.1 OS_TOKEN_FILE=/run/forewarn/os.token \\
        python openstack_engine.py --unix /run/forewarn-nova.sock

The token is an administrator's (``openstack token issue -f value -c id``) and is read for each call: renew it there
before it expires. A machine's name is the server's id, a host is a compute host.

Evacuation rebuilds a server elsewhere while its old host may still run it: only what ``forced_down`` says is believed.
Where forewarn knows that the host is off (it was fenced), the service is forced down first; a redeploy away from a host
that is up is refused. The boot mark is the last action that gave the server a new memory, as Nova lists them: a guest
that reboots itself does not change it.
"""

from __future__ import annotations

import json
import os
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from engine_server import Change, Platform, Refused, Seen, Step, Unsure, Waiting, main

CALL_SECONDS = 20.0  # for one answer of the API
VERSION = "2.96"  # of the compute API
BOOTS = frozenset({"create", "start", "reboot", "rebuild", "evacuate", "resize", "unshelve", "restore"})
HOST = "OS-EXT-SRV-ATTR:host"


class NovaApi:
    """The few calls that are needed."""

    def __init__(self, url: str, token_file: str, ca: str = "") -> None:
        self._url, self._token_file = url.rstrip("/"), token_file
        self._tls = ssl.create_default_context(cafile=ca or None) if url.startswith("https:") else None
        self._open = urllib.request.urlopen

    def call(self, method: str, path: str, body: Any = None) -> Any:
        told = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, told, method=method)  # noqa: S310 - the owner's address
        request.add_header("X-Auth-Token", Path(self._token_file).read_text().strip())
        request.add_header("OpenStack-API-Version", f"compute {VERSION}")
        request.add_header("Content-Type", "application/json")
        try:
            with self._open(request, timeout=CALL_SECONDS, context=self._tls) as answer:
                content = answer.read()
                return json.loads(content) if content else {}
        except urllib.error.HTTPError as refusal:
            with refusal:
                if refusal.code == 404 and method == "GET":
                    return None
                why = _message(refusal.read())
                if refusal.code >= 500 or refusal.code in (401, 403):
                    raise Unsure(f"Nova answers {refusal.code}: {why}") from None
                raise Refused(f"Nova refuses: {why}", lasting=refusal.code == 400) from None
        except (OSError, ValueError) as fault:
            raise Unsure(f"Nova does not answer: {fault}") from None


def _message(body: bytes) -> str:
    """Of a fault such as ``{"conflictingRequest": {"code": 409, "message": "…"}}``."""
    try:
        return str(next(iter(json.loads(body).values()))["message"])
    except (ValueError, KeyError, StopIteration, AttributeError, TypeError):
        return "it does not say why"


class OpenStackPlatform(Platform):
    """Hosts are compute hosts."""

    name = "OpenStack"
    version = VERSION
    kinds = ("restart", "pause", "stop", "start", "migrate", "redeploy")

    def __init__(self, api: NovaApi) -> None:
        super().__init__()
        self._api = api
        self.hosts = tuple(sorted(service["host"] for service in self._services()))

    def _services(self, host: str = "") -> list[dict[str, Any]]:
        query = f"&host={host}" if host else ""
        found: list[dict[str, Any]] = self._api.call("GET", f"/os-services?binary=nova-compute{query}")["services"]
        return found

    # What is there

    def machines(self, host: str) -> tuple[bool, list[dict[str, Any]]]:
        found, marker = [], ""
        while True:
            page = self._api.call("GET", f"/servers/detail?all_tenants=1&host={host}{marker}")
            found += page["servers"]
            if not page.get("servers_links"):
                break
            marker = f"&marker={page['servers'][-1]['id']}"
        return True, [self._seen(server) for server in sorted(found, key=lambda server: str(server["id"]))]

    def _seen(self, server: dict[str, Any]) -> dict[str, Any]:
        power = {"ACTIVE": "running", "REBOOT": "running", "HARD_REBOOT": "running", "PAUSED": "paused"}
        state = power.get(server["status"], "off")
        mark = "" if state == "off" else self._mark(server["id"])
        return {"ref": server["id"], "host": server[HOST] or "", "power": state, "boot_mark": mark}

    def _mark(self, server: str) -> str:
        """The newest action that gave it a new memory and did not fail; Nova lists the newest first."""
        actions = self._api.call("GET", f"/servers/{server}/os-instance-actions")["instanceActions"]
        boots = (each for each in actions if each["action"] in BOOTS and each.get("message") != "Error")
        return str(next((each["request_id"] for each in boots), ""))

    # What follows

    def next_step(self, errand: str, wanted: dict[str, Any]) -> Step:
        ref = wanted.get("ref", "")
        told = self._api.call("GET", f"/servers/{ref}") if ref and "/" not in ref else None
        if told is None or told["server"]["status"] in ("DELETED", "SOFT_DELETED"):
            raise Refused(f"There is no server {ref}.")
        server = told["server"]
        if server["OS-EXT-STS:task_state"]:
            return Waiting(f"Nova is at it: {server['OS-EXT-STS:task_state']}", 2.0)
        seen = self._seen(server)
        if server["status"] == "ERROR" and wanted["kind"] != "redeploy":
            raise Refused(f"Server {ref} is in the state ERROR.", lasting=False)
        return getattr(self, f"_{wanted['kind']}")(wanted, seen)  # type: ignore[no-any-return]  # by name

    def _act(self, seen: dict[str, Any], action: str, values: Any = None) -> Change:
        """One action. Its words hold the memory that it meets, so that an old leave fits no later one."""
        words = f"{action} {seen['ref']} at {seen['host']} ({seen['power']} {seen['boot_mark']})"
        return Change(words, lambda: self._api.call("POST", f"/servers/{seen['ref']}/action", {action: values}))

    def _start(self, wanted: dict[str, Any], seen: dict[str, Any]) -> Step:
        if wanted.get("to") not in ("", None, seen["host"]):
            raise Refused(f"Server {seen['ref']} is at {seen['host']}: Nova starts it there.")
        if seen["power"] == "running":
            return Seen(seen)
        return self._act(seen, "unpause" if seen["power"] == "paused" else "os-start")

    def _stop(self, wanted: dict[str, Any], seen: dict[str, Any]) -> Step:
        if seen["power"] == "off":
            return Seen({**seen, "why": "asked"})
        return self._act(seen, "unpause" if seen["power"] == "paused" else "os-stop")

    def _restart(self, wanted: dict[str, Any], seen: dict[str, Any]) -> Step:
        if seen["power"] != "running" or seen["boot_mark"] != wanted.get("boot_mark"):
            return self._start({**wanted, "to": ""}, seen)
        return self._act(seen, "reboot", {"type": "SOFT"})  # Nova makes it a hard one where the guest does not obey

    def _pause(self, wanted: dict[str, Any], seen: dict[str, Any]) -> Step:
        left = float(wanted.get("left", 0))
        if seen["power"] == "off":
            raise Refused(f"Server {seen['ref']} is off, so it cannot be paused.")
        if seen["power"] == "paused":
            return Waiting("It is paused.", left) if left > 0 else self._act(seen, "unpause")
        if left <= 0:
            return Seen(seen)
        if wanted.get("again"):
            return Waiting("Its pause was asked for before, and is not begun again.", left)
        return self._act(seen, "pause")

    def _migrate(self, wanted: dict[str, Any], seen: dict[str, Any]) -> Step:
        if seen["host"] == wanted["to"]:
            return Seen(seen)
        if seen["power"] == "off":
            raise Refused(f"Server {seen['ref']} is off, so it cannot be moved alive.")
        return self._act(seen, "os-migrateLive", {"host": wanted["to"], "block_migration": "auto"})

    def _redeploy(self, wanted: dict[str, Any], seen: dict[str, Any]) -> Step:
        """Away from a host that is lost, and from no other."""
        if seen["host"] == wanted["to"]:
            return Seen(seen) if seen["power"] == "running" else self._start(wanted, seen)
        (service,) = self._services(seen["host"]) or [{}]
        if service.get("forced_down"):
            return self._act(seen, "evacuate", {"host": wanted["to"]})
        if not wanted.get("source_off"):
            raise Refused(f"{seen['host']} is not known to be off: what is evacuated from it could run twice.")
        down = {"forced_down": True}
        path = f"/os-services/{service.get('id')}"
        return Change(f"force down nova-compute at {seen['host']}", lambda: self._api.call("PUT", path, down))

    def give_up(self, errand: str, wanted: dict[str, Any]) -> None:
        ref = wanted.get("ref", "")
        if wanted["kind"] == "migrate":
            for each in (self._api.call("GET", f"/servers/{ref}/migrations") or {"migrations": []})["migrations"]:
                self._api.call("DELETE", f"/servers/{ref}/migrations/{each['id']}")
        told = self._api.call("GET", f"/servers/{ref}") if wanted["kind"] == "pause" else None
        if told is not None and told["server"]["status"] == "PAUSED":
            self._api.call("POST", f"/servers/{ref}/action", {"unpause": None})


if __name__ == "__main__":
    told = os.environ
    main(OpenStackPlatform(NovaApi(told["OS_COMPUTE_URL"], told["OS_TOKEN_FILE"], told.get("OS_CACERT", ""))))

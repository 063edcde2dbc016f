"""The examples for Proxmox VE and OpenStack against answers that were written from their published APIs.

Neither was ever run against the real thing. Shapes: https://pve.proxmox.com/pve-docs/api-viewer/ (nodes/{node}/qemu,
status/current, tasks/{upid}/status) and https://docs.openstack.org/api-ref/compute/ (servers, os-instance-actions,
os-services, server actions; its own samples are in nova's doc/api_samples).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from engine_server import Answer, handle
from openstack_engine import HOST, NovaApi, OpenStackPlatform
from proxmox_engine import ProxmoxApi, ProxmoxPlatform

EXAMPLES = Path(__file__).parents[3] / "examples" / "engines"
LABEL = "NEVER RUN AGAINST A REAL"
UPID = "UPID:pve1:0003A1B2:01C2D3E4:65F00000:qmshutdown:104:root@pam!forewarn:"
SERVER = "2ed7c251-fbd2-47e5-acc9-090a32baffec"


class Recorded:
    """An API whose answers are what a test has put there; whatever changes something is kept."""

    def __init__(self, folder: Path) -> None:
        self.answers: dict[str, tuple[int, Any]] = {}
        self.changes: list[str] = []
        self.tokens: set[str] = set()
        (folder / "token").write_text("sesame\n")
        self.token_file = str(folder / "token")
        recorded = self

        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                recorded.tokens.add(self.headers.get("Authorization") or self.headers.get("X-Auth-Token") or "")
                if self.command != "GET":
                    recorded.changes.append(f"{self.command} {self.path} {body}".strip())
                status, told = recorded.answers.get(f"{self.command} {self.path}", (404, {"itemNotFound": {}}))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(b"" if told is None else json.dumps(told).encode())

            do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - the names are http.server's

            def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 - the name is http.server's

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Recorded]:
    made = Recorded(tmp_path)
    yield made
    made.close()


def _want(platform: Any, /, **wanted: Any) -> Answer:
    return handle(platform, "PUT", "/v1/errands/e-1", json.dumps(wanted).encode())


def _asks(answer: Answer) -> str:
    status, body = answer
    assert (status, body is not None and "asks" in body) == (202, True), answer
    return str((body or {})["asks"])


@pytest.mark.parametrize("name", ["virsh_engine.sh", "proxmox_engine.py", "openstack_engine.py"])
def test_an_example_is_short_and_says_whether_it_was_ever_run(name: str) -> None:
    text = (EXAMPLES / name).read_text()
    assert text.count("\n") < 200
    assert (LABEL in text) == (name != "virsh_engine.sh")


# Proxmox VE


def _vm(recorded: Recorded, node: str = "pve1", pid: int = 1234, **more: Any) -> None:
    """VM 104, running there and nowhere else, unless ``more`` says otherwise."""
    row = {"vmid": 104, "name": "web", "status": "running", "qmpstatus": "running", "pid": pid, "uptime": 99, **more}
    if row["status"] == "stopped":
        del row["pid"]
    for each in ("pve1", "pve2"):
        rows = [row] if each == node else []
        recorded.answers[f"GET /api2/json/nodes/{each}/qemu?full=1"] = (200, {"data": rows})
    current = {"ha": {"managed": 0}, **row}
    recorded.answers[f"GET /api2/json/nodes/{node}/qemu/104/status/current"] = (200, {"data": current})


def _task(recorded: Recorded, status: str, exitstatus: str = "OK") -> None:
    told = {"upid": UPID, "status": status, "type": "qmshutdown", "id": "104"}
    done = told if status == "running" else {**told, "exitstatus": exitstatus}
    recorded.answers[f"GET /api2/json/nodes/pve1/tasks/{UPID}/status"] = (200, {"data": done})


@pytest.fixture
def proxmox(recorded: Recorded) -> ProxmoxPlatform:
    nodes = [{"node": "pve2", "status": "online"}, {"node": "pve1", "status": "online"}]
    recorded.answers["GET /api2/json/nodes"] = (200, {"data": nodes})
    for verb in ("shutdown", "start", "suspend", "resume"):
        recorded.answers[f"POST /api2/json/nodes/pve1/qemu/104/status/{verb}"] = (200, {"data": UPID})
    recorded.answers["POST /api2/json/nodes/pve1/qemu/104/migrate"] = (200, {"data": UPID})
    recorded.answers[f"DELETE /api2/json/nodes/pve1/tasks/{UPID}"] = (200, {"data": None})
    return ProxmoxPlatform(ProxmoxApi(recorded.url, recorded.token_file))


def test_proxmox_lists_vms_by_node_with_their_process_as_the_mark(recorded: Recorded, proxmox: ProxmoxPlatform) -> None:
    _vm(recorded)
    assert proxmox.hosts == ("pve1", "pve2")
    assert proxmox.machines("pve2") == (True, [])
    machine = {"ref": "104", "host": "pve1", "power": "running", "boot_mark": "pve1:104:1234"}
    assert proxmox.machines("pve1") == (True, [machine])
    assert recorded.tokens == {"PVEAPIToken=sesame"}


def test_proxmox_restarts_by_two_tasks_each_with_leave(recorded: Recorded, proxmox: ProxmoxPlatform) -> None:
    restart = {"kind": "restart", "host": "pve1", "ref": "104", "boot_mark": "pve1:104:1234", "grace": 30}
    _vm(recorded)
    _task(recorded, "running")
    leave = _asks(_want(proxmox, **restart))
    assert recorded.changes == []
    assert _want(proxmox, **restart, leave=leave)[0] == 202  # the task runs
    assert recorded.changes == ["POST /api2/json/nodes/pve1/qemu/104/status/shutdown timeout=30&forceStop=1"]
    assert "asks" not in (_want(proxmox, **restart, leave=leave)[1] or {})
    _vm(recorded, status="stopped")
    _task(recorded, "stopped")
    leave = _asks(_want(proxmox, **restart, leave=leave))
    assert len(recorded.changes) == 1
    _task(recorded, "running")
    _want(proxmox, **restart, leave=leave)
    _vm(recorded, pid=4321)
    _task(recorded, "stopped")
    status, body = _want(proxmox, **restart)
    assert (status, (body or {})["sighting"]["boot_mark"]) == (200, "pve1:104:4321")
    assert len(recorded.changes) == 2


def test_proxmox_leaves_ha_resources_and_locked_vms_alone(recorded: Recorded, proxmox: ProxmoxPlatform) -> None:
    stop = {"kind": "stop", "host": "pve1", "ref": "104"}
    _vm(recorded, ha={"managed": 1, "state": "started", "group": "all"})
    status, body = _want(proxmox, **stop)
    assert status == 422
    assert "HA resource" in (body or {})["why"]
    _vm(recorded, lock="backup")
    assert _want(proxmox, **stop) == (202, {"why": "VM 104 is locked by Proxmox: backup", "again_after": 2.0})
    assert recorded.changes == []


def test_proxmox_migrates_alive_and_keeps_the_mark(recorded: Recorded, proxmox: ProxmoxPlatform) -> None:
    migrate = {"kind": "migrate", "host": "pve1", "ref": "104", "to": "pve2", "boot_mark": "pve1:104:1234"}
    _vm(recorded)
    _task(recorded, "running")
    _want(proxmox, **migrate, leave=_asks(_want(proxmox, **migrate)))
    assert recorded.changes == ["POST /api2/json/nodes/pve1/qemu/104/migrate target=pve2&online=1"]
    _vm(recorded, node="pve2", pid=77)
    _task(recorded, "stopped")
    status, body = _want(proxmox, **migrate)
    assert (status, (body or {})["sighting"]) == (
        200,
        {"ref": "104", "host": "pve2", "power": "running", "boot_mark": "pve1:104:1234"},
    )
    assert proxmox.machines("pve2")[1][0]["boot_mark"] == "pve1:104:1234"


def test_proxmox_says_why_a_task_failed_and_aborts_what_is_given_up(
    recorded: Recorded, proxmox: ProxmoxPlatform
) -> None:
    migrate = {"kind": "migrate", "host": "pve1", "ref": "104", "to": "pve2", "boot_mark": "pve1:104:1234"}
    _vm(recorded)
    _task(recorded, "stopped", "migration aborted")
    status, body = _want(proxmox, **migrate, leave=_asks(_want(proxmox, **migrate)))
    assert (status, body) == (422, {"why": "Proxmox's task failed: migration aborted", "lasting": False})
    _task(recorded, "running")
    _want(proxmox, **migrate, leave=_asks(_want(proxmox, **migrate)))
    assert handle(proxmox, "DELETE", "/v1/errands/e-1", b"")[0] == 204
    assert recorded.changes[-1] == f"DELETE /api2/json/nodes/pve1/tasks/{UPID}"


def test_proxmox_that_does_not_answer_is_not_known(recorded: Recorded, proxmox: ProxmoxPlatform) -> None:
    recorded.answers["GET /api2/json/nodes/pve1/qemu?full=1"] = (595, {"data": None})
    assert handle(proxmox, "GET", "/v1/hosts/pve1/machines", b"")[0] == 503
    assert _want(proxmox, kind="stop", host="pve1", ref="104")[0] == 503


# OpenStack


def _server(recorded: Recorded, status: str = "ACTIVE", host: str = "c1", task: str | None = None) -> None:
    server = {"id": SERVER, "status": status, HOST: host, "OS-EXT-STS:task_state": task, "OS-EXT-STS:power_state": 1}
    recorded.answers[f"GET /servers/{SERVER}"] = (200, {"server": server})
    recorded.answers[f"GET /servers/detail?all_tenants=1&host={host}"] = (200, {"servers": [server]})


def _actions(recorded: Recorded, *actions: tuple[str, str, str | None]) -> None:
    """The newest first, as Nova lists them."""
    told = [{"action": name, "request_id": request, "message": message} for name, request, message in actions]
    recorded.answers[f"GET /servers/{SERVER}/os-instance-actions"] = (200, {"instanceActions": told})


def _services(recorded: Recorded, *, forced_down: bool = False) -> None:
    rows = [
        {"id": f"id-{host}", "binary": "nova-compute", "host": host, "state": "up", "forced_down": forced_down}
        for host in ("c1", "c2")
    ]
    recorded.answers["GET /os-services?binary=nova-compute"] = (200, {"services": rows})
    recorded.answers["GET /os-services?binary=nova-compute&host=c1"] = (200, {"services": rows[:1]})


@pytest.fixture
def openstack(recorded: Recorded) -> OpenStackPlatform:
    _services(recorded)
    _server(recorded)
    _actions(recorded, ("create", "req-1", None))
    recorded.answers[f"POST /servers/{SERVER}/action"] = (202, None)
    recorded.answers["PUT /os-services/id-c1"] = (200, {"service": {"forced_down": True}})
    return OpenStackPlatform(NovaApi(recorded.url, recorded.token_file))


def test_openstack_reboots_once_and_the_action_is_the_mark(recorded: Recorded, openstack: OpenStackPlatform) -> None:
    restart = {"kind": "restart", "host": "c1", "ref": SERVER, "boot_mark": "req-1"}
    assert openstack.machines("c1")[1][0]["boot_mark"] == "req-1"
    leave = _asks(_want(openstack, **restart))
    _want(openstack, **restart, leave=leave)
    assert recorded.changes == [f'POST /servers/{SERVER}/action {{"reboot": {{"type": "SOFT"}}}}']
    _server(recorded, "REBOOT", task="reboot_started")
    _actions(recorded, ("reboot", "req-2", None), ("create", "req-1", None))
    assert _want(openstack, **restart, leave=leave)[0] == 202
    _server(recorded)
    status, body = _want(openstack, **restart, leave=leave)
    assert (status, (body or {})["sighting"]["boot_mark"]) == (200, "req-2")
    assert len(recorded.changes) == 1
    assert recorded.tokens == {"sesame"}


def test_openstack_counts_no_reboot_that_failed_and_no_migration(
    recorded: Recorded, openstack: OpenStackPlatform
) -> None:
    _actions(recorded, ("live-migration", "req-3", None), ("reboot", "req-2", "Error"), ("create", "req-1", None))
    assert openstack.machines("c1")[1][0]["boot_mark"] == "req-1"


def test_openstack_migrates_alive(recorded: Recorded, openstack: OpenStackPlatform) -> None:
    migrate = {"kind": "migrate", "host": "c1", "ref": SERVER, "to": "c2", "boot_mark": "req-1"}
    _want(openstack, **migrate, leave=_asks(_want(openstack, **migrate)))
    wanted = '{"os-migrateLive": {"host": "c2", "block_migration": "auto"}}'
    assert recorded.changes == [f"POST /servers/{SERVER}/action {wanted}"]
    _server(recorded, "MIGRATING", task="migrating")
    assert _want(openstack, **migrate)[0] == 202
    _server(recorded, host="c2")
    status, body = _want(openstack, **migrate)
    assert (status, (body or {})["sighting"]["host"]) == (200, "c2")


def test_openstack_evacuates_only_from_a_host_that_is_forced_down(
    recorded: Recorded, openstack: OpenStackPlatform
) -> None:
    redeploy = {"kind": "redeploy", "host": "c1", "ref": SERVER, "to": "c2", "boot_mark": "req-1"}
    status, body = _want(openstack, **redeploy)
    assert status == 422
    assert "could run twice" in (body or {})["why"]
    assert recorded.changes == []
    known = {**redeploy, "source_off": True}
    down = _asks(_want(openstack, **known))
    assert down == "force down nova-compute at c1"
    _want(openstack, **known, leave=down)
    assert recorded.changes == ['PUT /os-services/id-c1 {"forced_down": true}']
    _services(recorded, forced_down=True)
    _want(openstack, **known, leave=_asks(_want(openstack, **known)))
    assert recorded.changes[-1] == f'POST /servers/{SERVER}/action {{"evacuate": {{"host": "c2"}}}}'


def test_openstack_passes_on_what_nova_says(recorded: Recorded, openstack: OpenStackPlatform) -> None:
    pause = {"kind": "pause", "host": "c1", "ref": SERVER, "left": 5.0}
    conflict = {"conflictingRequest": {"code": 409, "message": "Cannot 'pause' instance while it is in vm_state x"}}
    recorded.answers[f"POST /servers/{SERVER}/action"] = (409, conflict)
    status, body = _want(openstack, **pause, leave=_asks(_want(openstack, **pause)))
    assert (status, (body or {})["lasting"]) == (422, False)
    assert "Cannot 'pause' instance" in (body or {})["why"]
    recorded.answers[f"GET /servers/{SERVER}"] = (503, {"computeFault": {"code": 503, "message": "busy"}})
    assert _want(openstack, **pause)[0] == 503
    del recorded.answers[f"GET /servers/{SERVER}"]
    assert _want(openstack, **pause)[0] == 422

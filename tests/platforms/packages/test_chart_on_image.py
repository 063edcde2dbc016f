"""The chart's two pods, started from the image as their manifests say: command, user, mounts, probes, ports.

There is no kubelet here: podman does what one would, with the values that Helm rendered.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.platforms.docker.daemons import Daemon
from tests.platforms.kubernetes.charts import CHART, helm
from tests.platforms.packages.built import LIMITS, NAME, run
from tests.waiting import until

_NETWORK, _REGION, _AGENT = "pods", "10.89.7.2", "10.89.7.3"
_TOKEN = "of-the-secret"
_CONFIG = f'[[vm]]\nname = "node-1"\naddress = "{_AGENT}"\n'
_ASK = ("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}")

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def manifests() -> list[dict[str, Any]]:
    """With the region, and the agent at it."""
    values = {
        "image": {"repository": NAME},
        "region": {"enabled": True, "tokenSecret": "secret", "config": _CONFIG, "podMonitor": True},
        "agent": {"endpoint": f"http://{_REGION}:16925", "podMonitor": True},
    }
    given = [word for key, part in values.items() for word in ("--set-json", f"{key}={json.dumps(part)}")]
    text = helm("template", "forewarn", CHART, "--namespace", "forewarn", *given)
    return [each for each in yaml.safe_load_all(text) if each]


@pytest.fixture
def network(engine: Daemon) -> Iterator[None]:
    run([*engine.client(), "network", "create", "--subnet", "10.89.7.0/24", _NETWORK])
    yield
    for name in ("region", "agent"):
        run([*engine.client(), "rm", "--force", name], status=None)
    run([*engine.client(), "network", "rm", "--force", _NETWORK])


def _of(manifests: list[dict[str, Any]], kind: str, part: str) -> dict[str, Any]:
    (found,) = (each for each in manifests if each["kind"] == kind and each["metadata"]["name"].endswith(part))
    return found


def _container(workload: dict[str, Any]) -> dict[str, Any]:
    (found,) = workload["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def _start(
    engine: Daemon, workload: dict[str, Any], name: str, address: str, folders: dict[str, Path], told: dict[str, str]
) -> None:
    """As a kubelet would: ``folders`` are its volumes, ``told`` is what secrets and fields say."""
    pod, container = workload["spec"]["template"]["spec"], _container(workload)
    whole, own = pod.get("securityContext", {}), container["securityContext"]
    user = own.get("runAsUser", whole.get("runAsUser"))
    words = ["--network", _NETWORK, "--ip", address, "--user", f"{user}:{whole.get('runAsGroup', user)}"]
    if own["readOnlyRootFilesystem"]:
        words += ["--read-only", "--read-only-tmpfs=false"]
    if not own["allowPrivilegeEscalation"]:
        words += ["--security-opt", "no-new-privileges"]
    for each in own["capabilities"]["drop"]:
        words += ["--cap-drop", each]
    for each in container["env"]:
        words += ["--env", f"{each['name']}={each['value'] if 'value' in each else told[each['name']]}"]
    for each in container["volumeMounts"]:
        words += ["--volume", f"{folders[each['name']]}:{each['mountPath']}{':ro' if each.get('readOnly') else ''}"]
    first, *rest = container["command"]
    line = ["run", "--detach", "--name", name, *LIMITS, *words, "--entrypoint", first, container["image"], *rest]
    run([*engine.client(), *line])


def _folder(room: Path, name: str, owner: int, group: int) -> Path:
    """Of a volume, as kubelets make them: the group may write where there is an fsGroup."""
    made = room / name
    made.mkdir(parents=True)
    os.chown(made, owner, group)
    made.chmod(0o2775)
    return made


def _port(container: dict[str, Any], name: str) -> int:
    (found,) = (each["containerPort"] for each in container["ports"] if each["name"] == name)
    return int(found)


def _status(engine: Daemon, url: str, *words: str) -> str:
    return run([*engine.inside, *_ASK, *words, url], status=None).stdout


def _fine(engine: Daemon, url: str) -> bool:
    return _status(engine, url) == "200"


def _log(engine: Daemon, name: str) -> str:
    done = run([*engine.client(), "logs", name], status=None)
    return done.stdout + done.stderr


def _probed(engine: Daemon, workload: dict[str, Any], name: str, address: str) -> None:
    """Every probe of the manifest gets its 200 where the image listens."""
    container = _container(workload)
    probes = [container[each] for each in container if each.endswith("Probe")]
    assert probes
    for probe in probes:
        at = probe["httpGet"]
        url = f"http://{address}:{_port(container, at['port'])}{at['path']}"
        until(partial(_fine, engine, url), f"{name} at {url}", lambda: _log(engine, name))


def _monitored(engine: Daemon, manifests: list[dict[str, Any]], workload: dict[str, Any], address: str) -> str:
    (endpoint,) = _of(manifests, "PodMonitor", workload["metadata"]["name"])["spec"]["podMetricsEndpoints"]
    url = f"http://{address}:{_port(_container(workload), endpoint['port'])}{endpoint['path']}"
    return run([*engine.inside, "curl", "-s", url]).stdout


def test_region_and_agent_start_from_the_image_as_their_manifests_say(
    engine: Daemon, network: None, manifests: list[dict[str, Any]], tmp_path: Path
) -> None:
    region, agent = _of(manifests, "StatefulSet", "-region"), _of(manifests, "DaemonSet", "-agent")
    group = region["spec"]["template"]["spec"]["securityContext"]["fsGroup"]
    folders = {each: _folder(tmp_path / "region", each, 0, group) for each in ("config", "data", "scratch")}
    (folders["config"] / "region.toml").write_text(_of(manifests, "ConfigMap", "-region")["data"]["region.toml"])
    _start(engine, region, "region", _REGION, folders, {"FOREWARN_TOKEN": _TOKEN})
    _probed(engine, region, "region", _REGION)

    folders = {each: _folder(tmp_path / "agent", each, 0, 0) for each in ("config", "state")}
    (folders["config"] / "agent.toml").write_text(_of(manifests, "ConfigMap", "-agent")["data"]["agent.toml"])
    _start(engine, agent, "agent", _AGENT, folders, {"NODE_NAME": "node-1"})
    _probed(engine, agent, "agent", _AGENT)

    assert "forewarn_build_info" in _monitored(engine, manifests, region, _REGION)
    assert "forewarn_agent" in _monitored(engine, manifests, agent, _AGENT)
    service = _of(manifests, "Service", "-region")
    name = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    control = next(each for each in service["spec"]["ports"] if each["name"] == "control")
    named = ("--resolve", f"{name}:{control['port']}:{_REGION}")
    url = f"http://{name}:{control['port']}/v1/vms"
    assert control["port"] == _port(_container(region), control["targetPort"])
    assert _status(engine, url, *named, "-H", f"Authorization: Bearer {_TOKEN}") == "200"
    assert _status(engine, url, *named) == "401"
    assert "Uid:\t10001\t" in run([*engine.client(), "exec", "region", "cat", "/proc/1/status"]).stdout

"""The chart: Helm takes it, every manifest fits Kubernetes' own schemas, and our programs read the files in it.

Helm and kubernetes-validate are PyPI's; nothing is installed into a cluster here. What the agent then does at an API
server, with the rights that stand in the chart, is ``real_server.py`` (``make kubernetes``).
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from forewarn import __version__
from forewarn.guest.agent.config.reading import read_config
from forewarn.settings.region_file import check_region_file
from forewarn.settings.table import SETTINGS
from tests.platforms.kubernetes.charts import CHART, IMAGE, TOOLS, helm, render

ALL = (
    "region.enabled=true",
    "region.tokenSecret=secret",
    "region.podMonitor=true",
    "region.storageClassName=fast",
    "agent.podMonitor=true",
    "agent.grace=20s",
    "imagePullSecrets[0].name=registry",
)
VERSIONS = ("1.25.0", "1.31.0", "1.37.0")  # three years of them; the last is the newest that the package knows


def of(manifests: list[dict[str, Any]], kind: str, part: str) -> dict[str, Any]:
    (found,) = (each for each in manifests if each["kind"] == kind and each["metadata"]["name"].endswith(part))
    return found


def container(workload: dict[str, Any]) -> dict[str, Any]:
    (found,) = workload["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def test_helm_finds_nothing_to_complain_of_and_the_versions_are_those_of_the_program() -> None:
    told = helm("lint", "--strict", CHART, "--set", f"image.repository={IMAGE}", "--set", ",".join(ALL[:2]))
    assert "0 chart(s) failed" in told
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert about["version"] == about["appVersion"] == __version__


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("settings", [(), ALL, ("agent.enabled=false", *ALL[:2]), ("agent.drain=false",)])
def test_every_manifest_fits_the_schema_of_kubernetes(tmp_path: Path, settings: tuple[str, ...], version: str) -> None:
    manifests = [each for each in render("forewarn", *settings) if each["kind"] != "PodMonitor"]
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump_all(manifests))
    words = [str(TOOLS / "kubernetes-validate"), "--strict", "-k", version, str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert told.count("passed for resource") == len(manifests)


def test_a_misspelled_key_would_be_found(tmp_path: Path) -> None:
    """The control: strict validation is strict."""
    daemon = of(render("forewarn"), "DaemonSet", "-agent")
    daemon["spec"]["template"]["spec"]["hostNetwrok"] = True
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump(daemon))
    words = [str(TOOLS / "kubernetes-validate"), "--strict", str(tmp_path / "wrong.yaml")]
    assert subprocess.run(words, capture_output=True, check=False).returncode != 0


def test_what_is_needed_and_not_given_is_said() -> None:
    assert "image.repository is needed" in helm("template", "forewarn", CHART, status=1)
    words = ("template", "forewarn", CHART, "--set", f"image.repository={IMAGE},region.enabled=true")
    assert "region.tokenSecret is needed" in helm(*words, status=1)


@pytest.mark.parametrize("drain", [True, False])
def test_the_agents_file_is_right_and_drains_by_the_api(tmp_path: Path, drain: bool) -> None:
    rules = '[[rule]]\nname = "short"\ntypes = ["Freeze"]\nverdict = "approve-now"\n'
    (tmp_path / "values.yaml").write_text(yaml.safe_dump({"agent": {"rules": rules, "drain": drain, "grace": "9s"}}))
    text = helm("template", "f", CHART, "--set", f"image.repository={IMAGE}", "--values", tmp_path / "values.yaml")
    manifests = [each for each in yaml.safe_load_all(text) if each]
    file = tmp_path / "agent.toml"
    file.write_text(of(manifests, "ConfigMap", "-agent")["data"]["agent.toml"])
    config = read_config(file)
    (step,) = config.steps
    assert (step.kind, step.settings) == ("kubernetes-node", {"drain": drain, "grace": "9s"})
    assert [rule.name for rule in config.rules][:1] == ["short"]


def test_the_agent_is_on_every_node_as_the_node_and_has_few_rights() -> None:
    manifests = render("forewarn", *ALL)
    daemon = of(manifests, "DaemonSet", "-agent")
    pod = daemon["spec"]["template"]["spec"]
    assert pod["hostNetwork"] is True
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["serviceAccountName"] == of(manifests, "ServiceAccount", "-agent")["metadata"]["name"]
    assert container(daemon)["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    (state,) = (each for each in pod["volumes"] if "hostPath" in each)
    assert state["hostPath"]["path"] == "/var/lib/forewarn-agent"
    granted = {
        (resource, verb)
        for rule in of(manifests, "ClusterRole", "-agent")["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert granted == {
        ("nodes", "get"),
        ("nodes", "patch"),
        ("nodes/status", "patch"),
        ("pods", "list"),
        ("pods/eviction", "create"),
    }
    without = of(render("forewarn", "agent.drain=false"), "ClusterRole", "-agent")["rules"]
    assert {resource for rule in without for resource in rule["resources"]} == {"nodes", "nodes/status"}


def test_the_region_is_not_root_keeps_its_data_and_is_told_what_it_knows(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(json.dumps({"region": {"config": '[[vm]]\nname = "web"\n'}}))
    words = ["--set", f"image.repository={IMAGE},{','.join(ALL[:2])}", "--values", str(tmp_path / "values.yaml")]
    manifests = [each for each in yaml.safe_load_all(helm("template", "f", CHART, *words)) if each]
    region = of(manifests, "StatefulSet", "-region")
    pod = region["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    (claim,) = region["spec"]["volumeClaimTemplates"]
    mounted = {each["name"]: each["mountPath"] for each in container(region)["volumeMounts"]}
    told = {each["name"]: each.get("value") for each in container(region)["env"]}
    assert str(told["FOREWARN_DATA"]).startswith(mounted[claim["metadata"]["name"]])
    known = {setting.variable: setting for setting in SETTINGS.values()}
    for name, value in told.items():
        if name != "FOREWARN_CONFIG" and value is not None:
            known[name].kind.read(value)  # refuses what is not right
    assert told["FOREWARN_TOKEN"] is None  # from a Secret
    file = tmp_path / "region.toml"
    file.write_text(of(manifests, "ConfigMap", "-region")["data"]["region.toml"])
    found, complaints = check_region_file(file)
    assert ([each.name for each in found.fleet], complaints) == (["web"], ())


def test_each_pod_monitor_names_a_port_that_its_pods_have() -> None:
    manifests = render("forewarn", *ALL)
    for kind, part in (("DaemonSet", "-agent"), ("StatefulSet", "-region")):
        workload, monitor = of(manifests, kind, part), of(manifests, "PodMonitor", part)
        labels = workload["spec"]["template"]["metadata"]["labels"]
        assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        assert endpoint["path"] == "/metrics"
        assert endpoint["port"] in [each["name"] for each in container(workload)["ports"]]

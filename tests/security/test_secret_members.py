"""What the service never tells back is in no file of the data directory and in no answer, whichever way it came in.

The list of members is the test's own, read from the public specifications (``x-ms-secret``, "never returned", "only
applicable in PUT"), not the product's table. Each is sent with a mark that nothing else contains, in three spellings.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Callable, Iterator
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from forewarn.core.region import Resource
from forewarn.web.resource_manager import keeping
from forewarn.web.whereabouts import SUBSCRIPTION
from tests.e2e.program import ROOT, ServerProgram

CANARY = "CanaryThatIsNeverTold"
MARK = "isnevertold"  # the end of it, in whatever case
S = f"/subscriptions/{SUBSCRIPTION}"
RG = f"{S}/resourceGroups/rg"
COMPUTE = f"{RG}/providers/Microsoft.Compute"
NETWORK = f"{RG}/providers/Microsoft.Network"
VM = f"{COMPUTE}/virtualMachines/vm"
SET = f"{COMPUTE}/virtualMachineScaleSets/set"

UNATTENDED = {"additionalUnattendContent": [{"passName": "OobeSystem", "content": CANARY}]}
OS = {"adminUsername": "me", "adminPassword": CANARY, "customData": CANARY, "windowsConfiguration": UNATTENDED}
EXTENSION = {"publisher": "p", "type": "t", "settings": {"a": 1}, "protectedSettings": {"k": [CANARY]}}
NESTED = {"type": "extensions", "name": "e", "properties": EXTENSION}
RUN_COMMAND = {
    "source": {"script": "true"},
    "runAsPassword": CANARY,
    "protectedParameters": [{"name": "a", "value": CANARY}],
}
GATEWAY = {
    "sslCertificates": [{"name": "c", "properties": {"data": CANARY, "password": CANARY}}],
    "vpnClientConfiguration": {"radiusServerSecret": CANARY, "radiusServers": [{"radiusServerSecret": CANARY}]},
}
CONTAINERS = {
    "containers": [{"name": "c", "properties": {"environmentVariables": [{"name": "a", "secureValue": CANARY}]}}],
    "imageRegistryCredentials": [{"server": "s", "username": "u", "password": CANARY}],
    "volumes": [{"name": "v", "secret": {"a": CANARY}}, {"azureFile": {"storageAccountKey": CANARY}}],
}
FLEET = {"computeProfile": {"baseVirtualMachineProfile": {"osProfile": OS}}}

# where, and the properties that are put there; each has at least one mark in it
RESOURCES: dict[str, dict[str, Any]] = {
    VM: {"osProfile": OS, "storageProfile": {"osDisk": {"osType": "Windows", "createOption": "FromImage"}}},
    f"{VM}/extensions/e": EXTENSION,
    f"{VM}/runCommands/r": RUN_COMMAND,
    SET: {
        "virtualMachineProfile": {
            "osProfile": {"computerNamePrefix": "s", **OS},
            "extensionProfile": {"extensions": [{"name": "e", "properties": EXTENSION}]},
        },
    },
    f"{SET}/extensions/e": EXTENSION,
    f"{COMPUTE}/galleries/g": {"a": {"adminPassword": CANARY}},
    f"{NETWORK}/applicationGateways/g": GATEWAY,
    f"{NETWORK}/applicationGateways/g/sslCertificates/d": {"data": CANARY, "password": CANARY},
    f"{NETWORK}/connections/c": {"sharedKey": CANARY, "authorizationKey": CANARY},
    f"{RG}/providers/Microsoft.KeyVault/vaults/v": {"tenantId": "t"},
    f"{RG}/providers/Microsoft.KeyVault/vaults/v/secrets/s": {"value": CANARY},
    f"{RG}/providers/Microsoft.ContainerInstance/containerGroups/c": CONTAINERS,
    f"{RG}/providers/Microsoft.App/containerApps/a": {"configuration": {"secrets": [{"name": "n", "value": CANARY}]}},
    f"{RG}/providers/Microsoft.Sql/servers/s": {"administratorLoginPassword": CANARY},
    f"{RG}/providers/Microsoft.AzureFleet/fleets/f": FLEET,
}
SPELLINGS: tuple[Callable[[str], str], ...] = (str, str.lower, str.upper)
PUBLIC = frozenset({"properties", "location", "sku", "name", "tags", "parameters", "resources", "type"})


class Manager:
    """The Resource Manager of a running server, over TLS, as any client would speak to it."""

    def __init__(self, server: ServerProgram) -> None:
        url = urlsplit(server.resource_manager)
        context = ssl.create_default_context(cafile=server.data / "tls" / "ca.pem")
        self._connection = HTTPSConnection(url.hostname or "", url.port, timeout=60, context=context)
        self.told: list[str] = []

    def ask(self, method: str, path: str, body: Any = None, *, version: str = "2024-11-01") -> tuple[int, str]:
        headers = {"Authorization": "Bearer x", "Content-Type": "application/json"}
        text = None if body is None else json.dumps(body)
        joint = "&" if "?" in path else "?"
        self._connection.request(method, f"{path}{joint}api-version={version}", text, headers)
        answer = self._connection.getresponse()
        found = answer.read().decode()
        self.told += [str(answer.getheaders()), found]
        return answer.status, found

    def must(self, method: str, path: str, body: Any = None, **more: Any) -> str:
        status, told = self.ask(method, path, body, **more)
        assert status in (200, 201), f"{method} {path}: {status} {told}"
        return told

    def document(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.must("GET", path))
        return found

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProgram]:
    with ServerProgram.start(tmp_path / "data", "--clock", "virtual", "--log-level", "debug") as started:
        yield started


@pytest.fixture
def manager(server: ServerProgram) -> Iterator[Manager]:
    found = Manager(server)
    found.must("PUT", RG, {"location": "westus"})
    yield found
    found.close()


def spelled(value: Any, spelling: Callable[[str], str]) -> Any:
    """The same with every member but the public ones spelled so."""
    if isinstance(value, dict):
        return {name if name in PUBLIC else spelling(name): spelled(each, spelling) for name, each in value.items()}
    return [spelled(each, spelling) for each in value] if isinstance(value, list) else value


def body_of(path: str, properties: dict[str, Any]) -> dict[str, Any]:
    sku = {"sku": {"name": "Standard_D2s_v5", "capacity": 1}} if path == SET else {}
    return {"location": "westus", **sku, "properties": properties}


def assert_untold(server: ServerProgram, manager: Manager) -> None:
    """Not in an answer, a list, the operator's views, the log, nor (after it has ended) in any file."""
    for path in (*RESOURCES, f"{RG}/resources", f"{S}/resources", *_collections()):
        manager.ask("GET", path)
        manager.ask("GET", f"{path}?$expand=instanceView,userData")
    told = [*manager.told, server.forewarn("activity", "--json"), server.forewarn("journal", "export")]
    manager.close()
    server.stop()
    files = [path for path in server.data.rglob("*") if path.is_file()]
    told += [path.read_bytes().decode("utf-8", "replace") for path in (*files, server.log)]
    assert len(files) > 3
    for text in told:
        at = text.lower().find(MARK)
        assert at < 0, text[max(0, at - 300) : at + 60]


def _collections() -> set[str]:
    return {path.rpartition("/")[0] for path in RESOURCES}


def test_no_way_of_a_single_resource_keeps_a_secret(server: ServerProgram, manager: Manager) -> None:
    for spelling in SPELLINGS:
        for path, properties in RESOURCES.items():
            body = body_of(path, spelled(properties, spelling))
            manager.must("PUT", path, body)
            manager.must("PATCH", path, {"properties": body["properties"]})
    assert_untold(server, manager)


def test_parts_inside_of_a_body_keep_no_secret(server: ServerProgram, manager: Manager) -> None:
    """Members that the api-version does not know yet, and resources that stand in a machine's body."""
    manager.must("PUT", VM, {**body_of(VM, RESOURCES[VM]), "resources": [NESTED]})
    newer = {**RESOURCES[VM], "newProfile": {"protectedSettings": CANARY, "deep": [[{"ADMINPASSWORD": CANARY}]]}}
    manager.must("PUT", VM, {**body_of(VM, newer), "resources": [NESTED]}, version="2099-01-01")
    assert_untold(server, manager)


def deployment(template: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    given = {name: {"value": value} for name, value in parameters.items()}
    return {"properties": {"mode": "Incremental", "template": template, "parameters": given}}


PARAMETERS = {
    "adminPassword": {"type": "securestring"},
    "whole": {"type": "secureObject"},
    "made": {"type": "string", "defaultValue": "[concat('x', parameters('adminPassword'))]"},
    "plain": {"type": "object"},
}
GIVEN = {"adminPassword": CANARY, "whole": {"a": [CANARY]}, "plain": {"customData": CANARY, "b": 1}}
OUTPUTS = {
    "direct": {"type": "string", "value": "[parameters('adminPassword')]"},
    "secure": {"type": "securestring", "value": CANARY},
    "object": {"type": "secureObject", "value": "[parameters('whole')]"},
    "variable": {"type": "string", "value": "[toUpper(concat(variables('v'), variables('v')))]"},
    "longer": {"type": "object", "value": {"a": "[concat('a', parameters('whole').a[0])]"}},
    "password": {"type": "string", "value": CANARY},
    "harmless": {"type": "string", "value": "[concat('told', 'back')]"},
}


def template(*resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    variables = {"v": "[parameters('adminPassword')]"}
    return {"parameters": PARAMETERS, "variables": variables, "resources": list(resources), "outputs": {}, **more}


def test_deployments_keep_no_secret(server: ServerProgram, manager: Manager) -> None:
    machine = {
        "type": "Microsoft.Compute/virtualMachines",
        "apiVersion": "2024-07-01",
        "name": "vm",
        "location": "westus",
        "properties": {
            "osProfile": {"adminPassword": "[parameters('adminPassword')]", "customData": "[variables('v')]"}
        },
        "resources": [{**NESTED, "apiVersion": "2024-07-01", "location": "westus", "dependsOn": ["vm"]}],
    }
    place = f"{RG}/providers/Microsoft.Resources/deployments"
    whole = deployment(template(machine, outputs=OUTPUTS), GIVEN)

    manager.must("POST", f"{place}/d/validate", whole)
    manager.must("PUT", f"{place}/d", whole)

    shown = manager.document(f"{place}/d")
    assert shown["properties"]["provisioningState"] == "Succeeded"
    assert shown["properties"]["parameters"]["adminPassword"] == {"type": "Securestring"}
    assert shown["properties"]["parameters"]["plain"]["value"] == {"b": 1}
    assert shown["properties"]["outputs"]["harmless"]["value"] == "toldback"
    assert [name for name, each in shown["properties"]["outputs"].items() if "value" in each] == ["harmless"]
    assert_untold(server, manager)


def test_a_deployment_that_fails_says_why_without_the_secret(server: ServerProgram, manager: Manager) -> None:
    place = f"{RG}/providers/Microsoft.Resources/deployments"
    disk = {"type": "Microsoft.Compute/disks", "apiVersion": "2024-03-02", "name": "d", "location": "westus"}
    broken: tuple[dict[str, Any], ...] = (
        {"properties": {"a": "[int(parameters('adminPassword'))]"}},
        {"properties": {"a": "[parameters('whole')[parameters('adminPassword')]]"}},
        {"properties": {"protectedSettings": f"[concat('{CANARY}']"}},
        {"location": "[parameters('adminPassword')]", "properties": {}, "tags": {"a": 1}},
        {"type": "Microsoft.Compute/virtualMachines", "properties": {"priority": "[parameters('adminPassword')]"}},
        {"type": "Microsoft.Compute/virtualMachines", "properties": {"priority": "[toUpper(variables('v'))]"}},
        {"type": "Microsoft.Compute/virtualMachines", "properties": {"priority": "[substring(variables('v'), 6)]"}},
        {"location": "[toLower(parameters('whole').a[0])]", "properties": {}, "tags": {"a": 1}},
        {"properties": {"a": "[int(toUpper(parameters('adminPassword')))]"}},
    )
    for number, part in enumerate(broken):
        manager.must("PUT", f"{place}/d{number}", deployment(template({**disk, **part}), GIVEN))
        assert '"provisioningState":"Failed"' in manager.must("GET", f"{place}/d{number}")
    unusable = ({"name": "[int(parameters('adminPassword'))]"}, {"apiVersion": "[parameters('adminPassword')]"})
    for part in unusable:
        status, told = manager.ask("PUT", f"{place}/e", deployment(template({**disk, **part}), GIVEN))
        assert (status, "InvalidTemplate" in told) == (400, True)
    assert_untold(server, manager)


def test_what_an_older_journal_holds_is_not_told() -> None:
    body = {"type": "Microsoft.Compute/virtualMachines/extensions", "properties": {"protectedSettings": {"k": CANARY}}}

    assert CANARY not in json.dumps(keeping.read(Resource("/x", json.dumps(body))))


def test_tags_are_told_whatever_their_names() -> None:
    document = {"id": "/x", "tags": {"password": "a label"}, "properties": {"password": CANARY}}

    assert json.loads(keeping.keep(document).body) == {"id": "/x", "tags": {"password": "a label"}, "properties": {}}


def test_documents_reach_the_journal_by_one_way() -> None:
    """Whoever makes the command elsewhere goes round the rule."""
    sources = (ROOT / "src" / "forewarn" / "web").rglob("*.py")

    found = {path.name for path in sources if re.search(r"\bKeepResource\(", path.read_text())}

    assert found == {"keeping.py"}


def test_refusals_and_actions_neither_say_nor_keep_a_secret(server: ServerProgram, manager: Manager) -> None:
    manager.must("PUT", VM, body_of(VM, {}))
    manager.must("PUT", SET, body_of(SET, {"virtualMachineProfile": {}}))
    wrong: tuple[dict[str, Any], ...] = (
        {"osProfile": {"adminPassword": [CANARY]}},
        {"osProfile": {"adminPassword": {"a": CANARY}, "customData": 5}},
        {"osProfile": {"windowsConfiguration": {"additionalUnattendContent": CANARY}}},
        {"osProfile": {**OS, "adminUsername": 1}},
        {"osProfile": OS, "priority": "Sometimes"},
    )
    for properties in wrong:
        for method in ("PUT", "PATCH"):
            for path, whole in ((VM, properties), (SET, {"virtualMachineProfile": properties})):
                manager.ask(method, path, body_of(path, whole))
                manager.ask(method, path.replace("/vm", "/new").replace("/set", "/new-set"), body_of(path, whole))
    for action in ("runCommand", "reimage", "redeploy", "capture", "assessPatches", "osRollingUpgrade"):
        for path in (VM, SET, f"{SET}/virtualMachines/0"):
            manager.ask(
                "POST", f"{path}/{action}", {"script": ["x"], "parameters": [{"value": CANARY}], "osProfile": OS}
            )
    manager.ask("PUT", f"{RG}/providers/Microsoft.Compute/virtualMachines", {"properties": {"osProfile": OS}})
    manager.ask("POST", "/tenant/oauth2/v2.0/token", {"client_secret": CANARY, "password": CANARY})
    assert_untold(server, manager)

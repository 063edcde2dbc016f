"""The real ``az`` finds its way in: with nothing to do, by each of its logins, and with a token where one is wanted."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from forewarn.web.documents.whereabouts import SUBSCRIPTION, TENANT
from tests.e2e.az import Az
from tests.e2e.program import FOREWARN, PATIENCE_SECONDS, ServerProgram, clean_environment

CLIENT = "11111111-1111-1111-1111-111111111111"
TEMPLATE = """{
  // az sends templates as they were written
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  "contentVersion": "1.0.0.0",
  "parameters": {"name": {"type": "string"}},
  "resources": [
    {
      "type": "Microsoft.Network/publicIPAddresses",
      "apiVersion": "2022-01-01",
      "name": "[parameters('name')]",
      "location": "[resourceGroup().location]",
      "properties": {}
    }
  ],
  "outputs": {"Address": {"type": "string", "value": "[reference(parameters('name')).ipAddress]"}}
}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProgram]:
    """One server for all; no test leaves anything behind in it."""
    with ServerProgram.start(tmp_path_factory.mktemp("region") / "data", "--clock", "x60") as running:
        yield running


@pytest.fixture
def bare(server: ServerProgram, tmp_path: Path) -> Az:
    """An ``az`` that trusts the region and knows nothing else of it."""
    authority = server.data / "tls" / "ca.pem"
    return Az.bare(
        tmp_path,
        AZURE_CONFIG_DIR=str(tmp_path / "config"),
        AZURE_CORE_COLLECT_TELEMETRY="false",
        REQUESTS_CA_BUNDLE=str(authority),
        NO_PROXY="localhost,127.0.0.1",
    )


def register(az: Az, server: ServerProgram, *more: str) -> None:
    az.run("cloud", "register", "-n", "Local", "--endpoint-resource-manager", server.resource_manager, *more)
    az.run("cloud", "set", "-n", "Local")


def is_in(az: Az) -> bool:
    """Whether commands work after a login."""
    return [group["name"] for group in az.json("group", "list")] == ["forewarn"]


@pytest.mark.slow
def test_one_line_in_a_shell_is_enough(server: ServerProgram, tmp_path: Path) -> None:
    az = Az.bare(tmp_path)
    script = f'eval "$({FOREWARN} az-env --dir "{tmp_path}/a z")" && az account show && az group exists -n forewarn'

    done = subprocess.run(
        ["bash", "-c", script],
        env={**az.environment, "FOREWARN_URL": server.control},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )

    assert done.returncode == 0, done.stderr
    account, _, exists = done.stdout.rpartition("}")
    assert json.loads(account + "}")["id"] == SUBSCRIPTION
    assert exists.strip() == "true"
    assert not (tmp_path / "home" / ".azure").exists()


@pytest.mark.slow
def test_a_service_principal_logs_in_as_with_entra(server: ServerProgram, bare: Az) -> None:
    az = bare.with_variables(AZURE_CORE_INSTANCE_DISCOVERY="false")
    register(az, server)

    (account,) = az.json("login", "--service-principal", "-u", CLIENT, "-p", "any", "--tenant", TENANT)

    assert (account["id"], account["tenantId"], account["cloudName"]) == (SUBSCRIPTION, TENANT, "Local")
    assert is_in(az)


@pytest.mark.slow
def test_a_service_principal_logs_in_as_with_adfs(server: ServerProgram, bare: Az) -> None:
    register(bare, server, "--endpoint-active-directory", f"{server.resource_manager}/adfs")

    (account,) = bare.json("login", "--service-principal", "-u", CLIENT, "-p", "any", "--tenant", "adfs")

    assert account["id"] == SUBSCRIPTION
    assert is_in(bare)


@pytest.mark.slow
def test_a_managed_identity_logs_in(server: ServerProgram, bare: Az) -> None:
    register(bare, server)
    as_vm = bare.with_variables(AZURE_POD_IDENTITY_AUTHORITY_HOST=server.control)
    endpoint = f"{server.control}/metadata/identity/oauth2/token"
    as_app = bare.with_variables(IDENTITY_ENDPOINT=endpoint, IDENTITY_HEADER="any")

    for az in (as_vm, as_app):
        (account,) = az.json("login", "--identity")

        assert (account["id"], account["tenantId"]) == (SUBSCRIPTION, TENANT)
        assert is_in(az)


@pytest.mark.slow
def test_a_cloud_is_found_by_its_metadata(server: ServerProgram, bare: Az) -> None:
    az = bare.with_variables(
        ARM_CLOUD_METADATA_URL=f"{server.control}/metadata/endpoints?list=1",
        AZURE_POD_IDENTITY_AUTHORITY_HOST=server.control,
    )
    az.run("cloud", "set", "-n", "Forewarn")

    (account,) = az.json("login", "--identity")

    assert account["environmentName"] == "Forewarn"
    assert is_in(az)


@pytest.mark.slow
def test_groups_come_and_go(server: ServerProgram, tmp_path: Path) -> None:
    az = Az.ready(server, tmp_path)

    made = az.json("group", "create", "-n", "Mine", "-l", "West US", "--tags", "a=b")
    assert (made["name"], made["location"], made["tags"]) == ("Mine", "westus", {"a": "b"})
    assert az.json("group", "exists", "-n", "mine") is True
    az.run("group", "delete", "-n", "MINE", "--yes")

    assert az.json("group", "exists", "-n", "Mine") is False
    assert "(ResourceGroupNotFound) Resource group 'Mine' could not be found." in az.error(
        "group", "show", "-n", "Mine", status=3
    )
    last = server.json("journal", "tail")[-1]
    assert (last["door"], last["who"]) == ("resource-manager", "az group delete")


@pytest.mark.slow
def test_a_template_is_deployed(server: ServerProgram, tmp_path: Path) -> None:
    az = Az.ready(server, tmp_path)
    (tmp_path / "template.json").write_text(TEMPLATE)
    deploy = ("deployment", "group", "create", "-g", "deployed", "-f", str(tmp_path / "template.json"))
    az.run("group", "create", "-n", "deployed", "-l", "westus")

    done = az.json(*deploy, "-p", "name=front")
    refused = az.error(*deploy, "-p", "name=" + "x" * 300)

    address = az.json("network", "public-ip", "show", "-g", "deployed", "-n", "front")["ipAddress"]
    assert done["properties"]["outputs"] == {"address": {"type": "String", "value": address}}
    assert "InvalidResourceName" in refused
    az.run("group", "delete", "-n", "deployed", "--yes")


@pytest.mark.slow
def test_a_server_with_a_token_lets_in_who_knows_it(tmp_path: Path) -> None:
    environment = clean_environment(FOREWARN_TOKEN="sesame")
    with ServerProgram.start(tmp_path / "data", env=environment) as server:
        az = Az.ready(server, tmp_path)
        assert is_in(az)

        stranger = az.with_variables(IDENTITY_HEADER="open")
        assert "not the token of this server" in stranger.error("group", "list")

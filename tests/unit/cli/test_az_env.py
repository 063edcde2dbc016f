"""``forewarn az-env``: the files it writes, the variables it prints, in every form."""

from __future__ import annotations

import configparser
import json
import shlex
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from forewarn.cli.api.client import Server
from forewarn.cli.api.shapes import ResourceManager
from forewarn.cli.commands import az_env
from forewarn.web.documents.whereabouts import SUBSCRIPTION, TENANT
from forewarn.web.resource_manager.call import ArmDesk
from forewarn.web.resource_manager.login.tokens import introduction
from tests.unit.cli.conftest import Region, Run

URL = "https://127.0.0.1:16927"
PEM = "-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n"
MANAGER: ResourceManager = {
    "url": URL,
    "authority_pem": PEM,
    "cloud": "Forewarn",
    "subscription": SUBSCRIPTION,
    "tenant": TENANT,
    "location": "local",
    "token_path": "/metadata/identity/oauth2/token",
}
SERVER = Server("http://127.0.0.1:16926")


def give_resource_manager(region: Region, url: str = URL) -> None:
    """The region has a Resource Manager; nobody goes through it here."""
    region.app.state.desk = replace(
        region.app.state.desk, resource_manager=introduction(url, PEM, ArmDesk(region.plane))
    )


def exports(text: str) -> dict[str, str]:
    words = [shlex.split(line) for line in text.splitlines()]
    assert all(export == "export" for export, _ in words)
    pairs = [assignment.partition("=") for _, assignment in words]
    return {name: value for name, _, value in pairs}


def test_az_env_writes_the_files_and_prints_the_variables(region: Region, run: Run, tmp_path: Path) -> None:
    give_resource_manager(region)

    done = run("az-env", "--sh", "--dir", str(tmp_path / "it's az"))

    variables = exports(done.out)
    home = Path(variables["AZURE_CONFIG_DIR"])
    assert (done.status, done.err, home) == (0, "", tmp_path / "it's az")
    assert sys.platform == "win32" or stat.S_IMODE(home.stat().st_mode) == 0o700
    assert variables["AZURE_RESOURCE_MANAGER_URL"] == URL
    assert variables["AZURE_CORE_COLLECT_TELEMETRY"] == "false"
    assert variables["AZURE_POD_IDENTITY_AUTHORITY_HOST"].startswith("http://127.0.0.1:")
    assert Path(variables["REQUESTS_CA_BUNDLE"]).read_text().endswith(PEM)
    assert Path(variables["NODE_EXTRA_CA_CERTS"]).read_text() == PEM
    assert run("az-env", "--dir", str(home), "--json").json == variables


def test_other_shells_get_the_same_and_each_system_its_own_unasked(
    region: Region, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_resource_manager(region)
    home = tmp_path / "it's $az"
    variables = run("az-env", "--dir", str(home), "--json").json

    powershell = run("az-env", "--dir", str(home), "--powershell").lines
    dotenv = run("az-env", "--dir", str(home), "--dotenv").lines

    assert len(powershell) == len(dotenv) == len(variables)
    assert "$env:AZURE_CONFIG_DIR = '" + str(home).replace("'", "''") + "'" in powershell
    escaped = str(home).replace("\\", "\\\\").replace("$", "\\$")
    assert f'AZURE_CONFIG_DIR="{escaped}"' in dotenv
    assert f"AZURE_RESOURCE_MANAGER_URL={URL}" in dotenv
    usual = powershell if sys.platform == "win32" else run("az-env", "--dir", str(home), "--sh").lines
    assert run("az-env", "--dir", str(home)).lines == usual
    monkeypatch.setattr(sys, "platform", "win32")
    assert run("az-env", "--dir", str(home)).lines == powershell


def test_a_directory_of_its_own_is_chosen_for_each_region(
    region: Region, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_resource_manager(region, "https://[::1]:7000")
    monkeypatch.setenv("LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME", str(tmp_path))

    assert run("az-env", "--json").json["AZURE_CONFIG_DIR"] == str(tmp_path / "forewarn" / "az-__1-7000")


def test_a_server_that_listens_everywhere_is_found_where_it_was_asked(region: Region, run: Run, tmp_path: Path) -> None:
    give_resource_manager(region, "https://0.0.0.0:7000")

    assert (
        run("az-env", "--dir", str(tmp_path), "--json").json["AZURE_RESOURCE_MANAGER_URL"] == "https://127.0.0.1:7000"
    )


def test_a_server_without_a_resource_manager_says_so(region: Region, run: Run, tmp_path: Path) -> None:
    done = run("az-env", "--dir", str(tmp_path / "az"))

    assert done.status == 4
    assert "its setting resource_manager is off" in done.err
    assert not (tmp_path / "az").exists()


def test_a_directory_that_cannot_be_written_is_a_sentence(region: Region, run: Run, tmp_path: Path) -> None:
    give_resource_manager(region)
    (tmp_path / "file").write_text("mine")

    done = run("az-env", "--dir", str(tmp_path / "file"))

    assert done.status == 1
    assert "cannot be written" in done.err
    assert (tmp_path / "file").read_text() == "mine"


def test_az_finds_the_cloud_the_choice_of_it_and_a_login(tmp_path: Path) -> None:
    az_env.prepare(tmp_path, MANAGER, URL, SERVER, {})

    clouds, config = (configparser.RawConfigParser() for _ in range(2))
    clouds.read(tmp_path / "clouds.config")
    config.read(tmp_path / "config")
    assert clouds["Forewarn"]["endpoint_resource_manager"] == URL
    assert clouds["Forewarn"]["endpoint_vm_image_alias_doc"] == f"{URL}/aliases.json"
    assert config["cloud"]["name"] == "Forewarn"
    (subscription,) = json.loads((tmp_path / "azureProfile.json").read_text())["subscriptions"]
    assert (subscription["id"], subscription["tenantId"]) == (SUBSCRIPTION, TENANT)
    assert subscription["user"]["assignedIdentityInfo"] == "MSI"


def test_what_the_user_has_configured_there_stays(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[defaults]\ngroup = mine\n[core]\noutput = table\n")

    az_env.prepare(tmp_path, MANAGER, URL, SERVER, {})

    config = configparser.RawConfigParser()
    config.read(tmp_path / "config")
    assert (config["defaults"]["group"], config["core"]["output"]) == ("mine", "table")


def test_trust_is_added_to_what_is_trusted_already(tmp_path: Path) -> None:
    mine = tmp_path / "mine.pem"
    mine.write_text("my company")
    home = tmp_path / "az"

    first = az_env.prepare(home, MANAGER, URL, SERVER, {"REQUESTS_CA_BUNDLE": str(mine)})
    bundle = Path(first["REQUESTS_CA_BUNDLE"])
    assert bundle.read_text() == f"my company\n{PEM}"
    again = az_env.prepare(home, MANAGER, URL, SERVER, {**first, "SSL_CERT_FILE": str(mine)})

    assert again == first
    assert bundle.read_text() == f"my company\n{PEM}"


def test_no_proxy_stands_before_the_region(tmp_path: Path) -> None:
    variables = az_env.prepare(tmp_path, MANAGER, URL, SERVER, {"NO_PROXY": "example.org, localhost"})

    assert variables["NO_PROXY"] == "example.org,localhost,127.0.0.1,::1"
    assert variables["no_proxy"] == "localhost,127.0.0.1,::1"


def test_a_server_with_a_token_is_asked_with_it(tmp_path: Path) -> None:
    variables = az_env.prepare(tmp_path, MANAGER, URL, Server(SERVER.url, "sesame"), {})

    assert variables["IDENTITY_ENDPOINT"] == "http://127.0.0.1:16926/metadata/identity/oauth2/token"
    assert variables["IDENTITY_HEADER"] == "sesame"
    assert "AZURE_POD_IDENTITY_AUTHORITY_HOST" not in variables
    assert all("sesame" not in path.read_text() for path in tmp_path.iterdir())

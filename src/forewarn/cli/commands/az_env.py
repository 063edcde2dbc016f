"""``forewarn az-env``: what lets plain ``az`` and the SDKs work on this region, and leaves the user's own login alone.

``az`` gets a configuration directory of its own with three small files: the cloud, the choice of it, and a profile that
is logged in as a managed identity, whose token the server hands out over http. Nothing is stored that is secret,
unless the server wants a token; then the environment carries it.
"""

from __future__ import annotations

import argparse
import configparser
import io
import json
import os
import shlex
import ssl
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from forewarn.cli import parsing
from forewarn.cli.api.client import OperatorClient, Server
from forewarn.cli.api.shapes import ResourceManager
from forewarn.cli.output import Output
from forewarn.cli.parsing import Subparsers
from forewarn.durable import make_directory, write_whole
from forewarn.settings.errors import CommandFailed, Exit

_INSTALLATION = "00000000-0000-0000-0000-000000000001"
_BUNDLE = "forewarn-ca-bundle.pem"
_LOCAL = ("localhost", "127.0.0.1", "::1")
_WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on
# where systems keep the authorities they trust, where Python was not told
_SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def add_to(subparsers: Subparsers) -> None:
    command = parsing.add_client_command(
        subparsers,
        "az-env",
        _az_env,
        "let az and the SDKs work on this region",
        "Write a private configuration directory for az and print the environment variables that make az and the Azure "
        "SDKs work on the running region. Your own ~/.azure is not touched, and nothing needs a login. Trust in the "
        "region's certificate is added to that in the system's authorities.",
        'eval "$(forewarn az-env)" && az vm list',
        "forewarn az-env --powershell | Out-String | Invoke-Expression",
        "forewarn az-env --dotenv > .env",
    )
    form = command.add_mutually_exclusive_group()
    form.add_argument("--sh", action="store_true", help="print for sh (the default, except on Windows)")
    form.add_argument("--powershell", action="store_true", help="print for PowerShell (the default on Windows)")
    form.add_argument("--dotenv", action="store_true", help="print as an .env file, for programs and containers")
    command.add_argument(
        "--dir",
        type=Path,
        metavar="DIR",
        help="the configuration directory (default: one for this region in ~/.local/state/forewarn, on Windows in "
        "%%LOCALAPPDATA%%\\forewarn)",
    )


def _az_env(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    manager = client.resource_manager()
    url = _reachable(manager["url"], client)
    directory = (args.dir or _usual_directory(url)).absolute()
    try:
        variables = prepare(directory, manager, url, client.server, os.environ)
    except OSError as problem:
        raise CommandFailed(f"the directory {directory} cannot be written ({problem.strerror or problem}).") from None
    if out.as_json:
        out.json(variables)
        return Exit.OK
    write = _form(args)
    for name, value in variables.items():
        out.line(write(name, value))
    return Exit.OK


def _form(args: argparse.Namespace) -> Callable[[str, str], str]:
    if args.dotenv:
        return _dotenv
    on_windows = sys.platform == "win32"
    return _powershell if args.powershell or (on_windows and not args.sh) else _shell


def _reachable(url: str, client: OperatorClient) -> str:
    """A server that listens everywhere is found where its control address was found."""
    parts = urlsplit(url)
    if parts.hostname not in _WILDCARDS:
        return url
    host = urlsplit(client.server.url).hostname or "localhost"
    return f"https://[{host}]:{parts.port}" if ":" in host else f"https://{host}:{parts.port}"


def _usual_directory(url: str) -> Path:
    state = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME", "")
    base = Path(state) if state else Path.home() / ".local" / "state"
    parts = urlsplit(url)
    host = (parts.hostname or "").replace(":", "_")
    return base / "forewarn" / f"az-{host}-{parts.port}"


def prepare(
    directory: Path, manager: ResourceManager, url: str, server: Server, environment: Mapping[str, str]
) -> dict[str, str]:
    """Write the files and return the variables that point at them."""
    make_directory(directory)
    authority, bundle = directory / "ca.pem", directory / _BUNDLE
    _write_cloud(directory, manager, url)
    _write(directory / "azureProfile.json", json.dumps(_profile(manager)))
    _write(authority, manager["authority_pem"])
    system = _system_bundle(environment)
    _write(bundle, system + manager["authority_pem"])
    variables = {
        "AZURE_CONFIG_DIR": str(directory),
        "AZURE_CORE_COLLECT_TELEMETRY": "false",
        **_identity(manager, server),
        "AZURE_SUBSCRIPTION_ID": manager["subscription"],
        "AZURE_TENANT_ID": manager["tenant"],
        "AZURE_RESOURCE_MANAGER_URL": url,
        "REQUESTS_CA_BUNDLE": str(bundle),
        "NODE_EXTRA_CA_CERTS": str(authority),
    }
    if system:  # it stands in the place of the system's, so it must not be less
        variables["SSL_CERT_FILE"] = str(bundle)
    for name in ("NO_PROXY", "no_proxy"):
        variables[name] = _without_proxy(environment.get(name, ""), urlsplit(url).hostname or "")
    return variables


def _identity(manager: ResourceManager, server: Server) -> dict[str, str]:
    """Where tokens come from. A server with a secret gives them only to who shows it, as an App Service does."""
    if not server.token:
        return {"AZURE_POD_IDENTITY_AUTHORITY_HOST": server.url}
    return {"IDENTITY_ENDPOINT": server.url + manager["token_path"], "IDENTITY_HEADER": server.token}


def _profile(manager: ResourceManager) -> dict[str, object]:
    subscription = {
        "id": manager["subscription"],
        "name": "Forewarn",
        "state": "Enabled",
        "user": {"name": "systemAssignedIdentity", "type": "servicePrincipal", "assignedIdentityInfo": "MSI"},
        "isDefault": True,
        "tenantId": manager["tenant"],
        "environmentName": manager["cloud"],
        "homeTenantId": manager["tenant"],
        "managedByTenants": [],
    }
    return {"installationId": _INSTALLATION, "subscriptions": [subscription]}


def _write_cloud(directory: Path, manager: ResourceManager, url: str) -> None:
    """The cloud and the choice of it. Whatever else ``az config set`` has put there stays."""
    cloud = manager["cloud"]
    endpoints = ("resource_manager", "management", "active_directory", "active_directory_resource_id")
    values = {f"endpoint_{name}": url for name in endpoints}
    _configure(directory / "clouds.config", {cloud: {**values, "endpoint_vm_image_alias_doc": f"{url}/aliases.json"}})
    _configure(
        directory / "config",
        {
            "cloud": {"name": cloud},
            "core": {"collect_telemetry": "false", "instance_discovery": "false", "survey_message": "false"},
            "auto-upgrade": {"enable": "no"},
            "extension": {"use_dynamic_install": "no"},
        },
    )


def _configure(path: Path, sections: Mapping[str, Mapping[str, str]]) -> None:
    parser = configparser.RawConfigParser()
    try:
        parser.read(path, encoding="utf-8")
    except configparser.Error:
        parser = configparser.RawConfigParser()
    for section, values in sections.items():
        if not parser.has_section(section):
            parser.add_section(section)
        for name, value in values.items():
            parser.set(section, name, value)
    written = io.StringIO()
    parser.write(written)
    _write(path, written.getvalue())


def _write(path: Path, text: str) -> None:
    """Readable by its owner only: az adds to these files what it keeps for itself."""
    write_whole(path, text.encode(), 0o600)


def _system_bundle(environment: Mapping[str, str]) -> str:
    """The authorities that are trusted now. What an earlier run of this command has set is not among them."""
    paths = ssl.get_default_verify_paths()
    named = (environment.get("REQUESTS_CA_BUNDLE"), environment.get("SSL_CERT_FILE"), paths.cafile, *_SYSTEM_BUNDLES)
    for name in named:
        if name and Path(name).is_file() and Path(name).name != _BUNDLE:
            text = Path(name).read_text(encoding="utf-8", errors="replace")
            return text if text.endswith("\n") else f"{text}\n"
    return _windows_authorities()


def _windows_authorities() -> str:
    """Windows keeps those that it trusts in a store, not in a file."""
    if sys.platform == "win32":
        kept = ssl.enum_certificates("ROOT")
        return "".join(ssl.DER_cert_to_PEM_cert(each) for each, encoding, _ in kept if encoding == "x509_asn")
    return ""


def _without_proxy(before: str, host: str) -> str:
    names = [name.strip() for name in before.split(",") if name.strip()]
    return ",".join(dict.fromkeys((*names, *_LOCAL, host)))


def _shell(name: str, value: str) -> str:
    return f"export {name}={shlex.quote(value)}"


def _powershell(name: str, value: str) -> str:
    return "$env:{} = '{}'".format(name, value.replace("'", "''"))


def _dotenv(name: str, value: str) -> str:
    plain = all(letter.isalnum() or letter in "/._-:,@%+" for letter in value)
    if plain:
        return f"{name}={value}"
    escaped = "".join(f"\\{letter}" if letter in '\\"$`' else letter for letter in value)
    return f'{name}="{escaped}"'

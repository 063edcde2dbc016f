"""What a caller may write and the service never tells back. None of it may reach the journal, or an answer.

A member is secret by its own name, or by its name and that of the object or list it stands in (``properties`` and
places in lists do not count). Case does not matter, nor how deep it stands, nor which provider's resource it is in.

The table is what the public clients know as secret: the members that azure-cli's generated commands mark so
(``"secret": True``, from ``x-ms-secret`` in the specifications), those whose description says "never returned" or "only
applicable in PUT", and passwords and keys by the names they have throughout. ``userData`` is not among them: the
service tells it to callers that ask with ``$expand=userData``. References to vaults and public keys are no secrets
either.
"""

from __future__ import annotations

from typing import Any

SECRET = (
    "adminPassword",  # Microsoft.Compute, also of gallery and fleet profiles
    "customData",
    "protectedSettings",  # of extensions
    "protectedParameters",  # of run commands
    "runAsPassword",
    "password",  # Microsoft.Network/applicationGateways/sslCertificates, registries, databases
    "adminUserPassword",
    "administratorLoginPassword",
    "sharedKey",  # Microsoft.Network/connections
    "authorizationKey",
    "radiusServerSecret",  # Microsoft.Network/p2sVpnGateways and virtualNetworkGateways
    "secureValue",  # Microsoft.ContainerInstance
    "storageAccountKey",
    "accountKey",
    "accessKey",
    "primaryKey",
    "secondaryKey",
    "clientSecret",
    "connectionString",
    "passphrase",
    "privateKey",
    "sasToken",
)
SECRET_IN = (
    ("additionalUnattendContent", "content"),  # of windowsConfiguration
    ("sslCertificates", "data"),  # the whole pfx file with its private key
    ("secrets", "value"),  # Microsoft.KeyVault/vaults/secrets, Microsoft.App
    ("volumes", "secret"),  # Microsoft.ContainerInstance
    ("siteConfig", "appSettings"),  # Microsoft.Web
    ("siteConfig", "connectionStrings"),
)

_SECRET = frozenset(name.lower() for name in SECRET)
_SECRET_IN = frozenset((holder.lower(), name.lower()) for holder, name in SECRET_IN)
_SAID_ALOUD = frozenset({"tags"})  # free names, which the service tells back
_DECLARATIONS = frozenset(
    {"parameters", "outputs"}
)  # of a deployment: of a secret one its type is told, and nothing else


def is_secret(member: str, holder: str = "") -> bool:
    """Whether the service never returns this member; ``holder`` is the name of the object or list it is in."""
    return member.lower() in _SECRET or (holder.lower(), member.lower()) in _SECRET_IN


def without_secrets(document: dict[str, Any]) -> dict[str, Any]:
    """A resource's document as it may be kept and told back."""
    kind = str(document.get("type", "")).rpartition("/")[2]
    found: dict[str, Any] = _clean(document, kind.lower())
    return found


def _clean(value: Any, holder: str) -> Any:
    if isinstance(value, list):
        return [_clean(each, holder) for each in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, item in value.items():
        folded = name.lower()
        if folded in _SAID_ALOUD:
            found[name] = item
        elif not is_secret(folded, holder):
            found[name] = _clean(item, holder if folded == "properties" else folded)
        elif holder in _DECLARATIONS and isinstance(item, dict):
            found[name] = {key: part for key, part in item.items() if key.lower() == "type"}
    return found

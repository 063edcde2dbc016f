"""What clients fetch before their first request: endpoints, tenant, token. None of it needs a token itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from forewarn.plane.clock import wall_time
from forewarn.web.introduction import Introduction
from forewarn.web.resource_manager.call import ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.images import ALIASES
from forewarn.web.resource_manager.login.access import IDENTITY, TOKEN_LIFE, Access
from forewarn.web.resource_manager.routing import Router

CLOUD = "Forewarn"
ENDPOINTS = "/metadata/endpoints"
IDENTITY_TOKEN = "/metadata/identity/oauth2/token"  # noqa: S105 - a path
_SERVICES = (
    "portal",
    "graphAudience",
    "graph",
    "resourceManager",
    "gallery",
    "batch",
    "media",
    "sqlManagement",
    "activeDirectoryDataLake",
    "microsoftGraphResourceId",
)


def add_to(router: Router) -> None:
    """The routes that need neither a token nor an api-version."""
    router.add("GET", ENDPOINTS, _endpoints)
    router.add("GET", "/aliases.json", _aliases)
    router.add("GET", IDENTITY_TOKEN, _identity)
    router.add("GET", "/adfs/.well-known/openid-configuration", _adfs_configuration)
    router.add("GET", "/adfs/{tenant}/v2.0/.well-known/openid-configuration", _configuration)
    router.add("GET", "/{tenant}/v2.0/.well-known/openid-configuration", _configuration)
    router.add("GET", "/{tenant}/.well-known/openid-configuration", _configuration)
    router.add("POST", "/adfs/{tenant}/oauth2/v2.0/token", _token)
    router.add("POST", "/{tenant}/oauth2/v2.0/token", _token)
    router.add("POST", "/{tenant}/oauth2/token", _token)


def introduction(url: str, authority_pem: str, desk: ArmDesk) -> Introduction:
    """What others may tell about this Resource Manager, which is found at ``url``."""
    return Introduction(
        url=url,
        authority_pem=authority_pem,
        cloud=CLOUD,
        subscription=desk.subscription,
        tenant=desk.tenant,
        location=desk.location,
        has_secret=bool(desk.access.secret),
        token_path=IDENTITY_TOKEN,
        token=partial(_identity_token, desk),
        endpoints_path=ENDPOINTS,
        endpoints=partial(endpoints, url),
    )


def _identity_token(desk: ArmDesk, headers: Mapping[str, str], query: Mapping[str, str]) -> tuple[int, Any]:
    reply = identity_answer(desk.access, headers, query, desk.tenant)
    return reply.status, reply.body


def endpoints(url: str, as_list: bool) -> Any:
    """Where everything is: at one place. ``az cloud register`` wants the bare object, the environment's way a list."""
    found = {
        "name": CLOUD,
        **dict.fromkeys(_SERVICES, url),
        "authentication": {
            "loginEndpoint": url,
            "audiences": [url, f"{url}/"],
            "tenant": "common",
            "identityProvider": "AAD",
        },
        "vmImageAliasDoc": f"{url}/aliases.json",
        "suffixes": {
            "storage": "core.localhost",
            "keyVaultDns": "vault.localhost",
            "sqlServerHostname": "database.localhost",
            "acrLoginServer": "azurecr.localhost",
        },
    }
    return [found] if as_list else found


def identity_answer(access: Access, headers: Mapping[str, str], query: Mapping[str, str], tenant: str) -> ArmReply:
    """A managed identity's token, as a VM or an App Service gets it. ``headers`` and ``query`` have lower-case keys."""
    asked = headers.get("metadata", "").lower() == "true" or "x-identity-header" in headers
    if not asked or "x-forwarded-for" in headers:
        return _no(400, "invalid_request", "Required metadata header not specified")
    granted = access.granted(headers.get("x-identity-header", ""))
    if granted is None:
        return _no(401, "unauthorized", "X-IDENTITY-HEADER is not the token of this server.")
    resource = query.get("resource", "")
    if not resource:
        return _no(400, "invalid_request", "The query parameter 'resource' is missing.")
    now = wall_time()
    return ArmReply(
        200,
        {
            "access_token": access.issue(resource, f"https://sts.windows.net/{tenant}/", tenant, now, granted.token_id),
            "client_id": IDENTITY,
            "expires_in": str(int(TOKEN_LIFE.total_seconds())),
            "expires_on": str(int((now + TOKEN_LIFE).timestamp())),
            "not_before": str(int(now.timestamp())),
            "resource": resource,
            "token_type": "Bearer",
        },
    )


async def _endpoints(desk: ArmDesk, call: Call) -> ArmReply:
    return ArmReply(200, endpoints(call.base_url, "list" in call.query))


async def _aliases(desk: ArmDesk, call: Call) -> ArmReply:
    return ArmReply(200, ALIASES)


async def _identity(desk: ArmDesk, call: Call) -> ArmReply:
    return identity_answer(desk.access, call.headers, call.query, desk.tenant)


async def _configuration(desk: ArmDesk, call: Call) -> ArmReply:
    """Entra's. A client takes the tenant's id from the path of the token endpoint."""
    tenant = f"{call.base_url}/{call.names['tenant']}"
    return ArmReply(200, _places(f"{tenant}/v2.0", f"{tenant}/oauth2/v2.0/authorize", f"{tenant}/oauth2/v2.0/token"))


async def _adfs_configuration(desk: ArmDesk, call: Call) -> ArmReply:
    adfs = f"{call.base_url}/adfs"
    return ArmReply(200, _places(adfs, f"{adfs}/oauth2/authorize/", f"{adfs}/oauth2/token/"))


def _places(issuer: str, authorize: str, token: str) -> dict[str, Any]:
    return {
        "issuer": issuer,
        "authorization_endpoint": authorize,
        "token_endpoint": token,
        "grant_types_supported": ["client_credentials"],
        "response_types_supported": ["token"],
        "subject_types_supported": ["public"],
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
    }


async def _token(desk: ArmDesk, call: Call) -> ArmReply:
    """Log in a service principal. Any client id is accepted, and all are the same principal."""
    form = call.body if isinstance(call.body, dict) else {}
    if form.get("grant_type") != "client_credentials":
        return _no(400, "unsupported_grant_type", "Log in as a service principal: grant_type=client_credentials.")
    granted = desk.access.granted(str(form.get("client_secret", "")))
    if granted is None:
        return _no(401, "invalid_client", "The client secret is not the token of this server.")
    audience = str(form.get("scope") or form.get("resource") or call.base_url).removesuffix("/.default")
    seconds = int(TOKEN_LIFE.total_seconds())
    issuer = f"{call.base_url}/{desk.tenant}/v2.0"
    token = desk.access.issue(audience, issuer, desk.tenant, wall_time(), granted.token_id)
    return ArmReply(
        200, {"token_type": "Bearer", "expires_in": seconds, "ext_expires_in": seconds, "access_token": token}
    )


def _no(status: int, error: str, description: str) -> ArmReply:
    """An error as token services write it; ``statusCode`` and ``message`` are an App Service's names for the same."""
    body = {"error": error, "error_description": description, "statusCode": status, "message": description}
    return ArmReply(status, body)

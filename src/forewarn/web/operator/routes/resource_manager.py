"""Where the Resource Manager is, and what its clients must fetch without https before they can use it.

A managed identity gets its token over plain http, on loopback: so does every ``az`` command after ``forewarn az-env``.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import FastAPI
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from forewarn.core.refusal import Hint, Refused
from forewarn.web.host_names import LOOPBACK_HOSTS
from forewarn.web.introduction import Introduction
from forewarn.web.operator.desk import TheDesk
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.answers import Answer

router = routes_below("/v1", "service")


class ResourceManagerAnswer(Answer):
    """What a client of the Resource Manager must be told."""

    url: str = Field(description="Its address.", examples=["https://127.0.0.1:16927"])
    authority_pem: str = Field(
        description="The certificate of the local authority to trust.", examples=["-----BEGIN CERTIFICATE-----\n…"]
    )
    cloud: str = Field(description="What the cloud is called.", examples=["Forewarn"])
    subscription: str = Field(
        description="The id of the one subscription.", examples=["00000000-0000-0000-0000-00000000f0e0"]
    )
    tenant: str = Field(description="The id of its tenant.", examples=["00000000-0000-0000-0000-00000000f0e1"])
    location: str = Field(description="The name of its location.", examples=["local"])
    token_path: str = Field(
        description="Where, on this server, a managed identity gets its token.",
        examples=["/metadata/identity/oauth2/token"],
    )


@router.get("/resource-manager", summary="Show where the Resource Manager is")
async def resource_manager(desk: TheDesk) -> ResourceManagerAnswer:
    """Its address, the authority that vouches for it, and the ids that clients want."""
    found = desk.resource_manager
    if found is None:
        raise Refused(
            Hint.NOT_FOUND,
            "This server runs without a Resource Manager: its setting resource_manager is off, or faces leaves it out.",
        )
    return ResourceManagerAnswer(
        url=found.url,
        authority_pem=found.authority_pem,
        cloud=found.cloud,
        subscription=found.subscription,
        tenant=found.tenant,
        location=found.location,
        token_path=found.token_path,
    )


def add_metadata_routes(app: FastAPI, introduction: Introduction) -> None:
    """The two plain-http routes. The gate does not check their callers; these functions do."""

    async def identity(request: Request) -> JSONResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        here = urlsplit(f"//{headers.get('host', '')}").hostname in LOOPBACK_HOSTS
        if not here and not introduction.has_secret:  # where every caller gets a token, only this machine may ask
            return JSONResponse({"error": "invalid_request", "error_description": "Ask on this machine."}, 400)
        query = {name.lower(): value for name, value in request.query_params.items()}
        status, body = introduction.token(headers, query)
        return JSONResponse(body, status)

    async def metadata(request: Request) -> JSONResponse:
        return JSONResponse(introduction.endpoints("list" in request.query_params))

    app.add_route(introduction.token_path, identity, methods=["GET"], include_in_schema=False)
    app.add_route(introduction.endpoints_path, metadata, methods=["GET"], include_in_schema=False)

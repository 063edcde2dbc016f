"""Where the Resource Manager is, and what its clients must fetch without https before they can use it.

A managed identity gets its token over plain http, on loopback: so does every ``az`` command after ``forewarn az-env``.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import APIRouter, FastAPI
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from forewarn.core.refusal import Hint, Refused
from forewarn.web.host_names import LOOPBACK_HOSTS
from forewarn.web.operator.desk import TheDesk
from forewarn.web.operator.models import Answer
from forewarn.web.resource_manager.door import Door
from forewarn.web.resource_manager.tokens import CLOUD, ENDPOINTS, IDENTITY_TOKEN, endpoints, identity_answer

router = APIRouter(prefix="/v1", tags=["service"])


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
    door = desk.resource_manager
    if door is None:
        raise Refused(
            Hint.NOT_FOUND,
            "This server runs without a Resource Manager: its setting resource_manager is off, or faces leaves it out.",
        )
    return ResourceManagerAnswer(
        url=door.url,
        authority_pem=door.authority_pem,
        cloud=CLOUD,
        subscription=door.desk.subscription,
        tenant=door.desk.tenant,
        location=door.desk.location,
        token_path=IDENTITY_TOKEN,
    )


def add_metadata_routes(app: FastAPI, door: Door) -> None:
    """The two plain-http routes. The gate leaves them alone; they check for themselves."""

    async def identity(request: Request) -> JSONResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        here = urlsplit(f"//{headers.get('host', '')}").hostname in LOOPBACK_HOSTS
        if not here and not door.desk.access.secret:  # where everybody gets a token, nobody comes from afar
            return JSONResponse({"error": "invalid_request", "error_description": "Ask on this machine."}, 400)
        query = {name.lower(): value for name, value in request.query_params.items()}
        reply = identity_answer(door.desk.access, headers, query, door.desk.tenant)
        return JSONResponse(reply.body, reply.status)

    async def metadata(request: Request) -> JSONResponse:
        return JSONResponse(endpoints(door.url, "list" in request.query_params))

    app.add_route(IDENTITY_TOKEN, identity, methods=["GET"], include_in_schema=False)
    app.add_route(ENDPOINTS, metadata, methods=["GET"], include_in_schema=False)

"""Where the Resource Manager is."""

from __future__ import annotations

from pydantic import Field

from forewarn.core.refusal import Hint, Refused
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

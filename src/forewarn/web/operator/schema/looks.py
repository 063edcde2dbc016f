"""Which form of what a VM sees, and from where on in the journal: the queries of looks that have no filter."""

from __future__ import annotations

from pydantic import Field

from forewarn.web.operator.schema.requests import Body
from forewarn.wire.versions import IMDS_VERSIONS, NEWEST


class ReadQuery(Body):
    """Which form of the document."""

    api_version: str = Field(
        NEWEST.date,
        alias="api-version",
        max_length=32,
        description="As a guest would ask for it.",
        examples=[NEWEST.date],
    )


class InstanceQuery(Body):
    """Which form of the instance metadata."""

    api_version: str = Field(
        IMDS_VERSIONS[-1],
        alias="api-version",
        max_length=32,
        description="As a guest would ask for it.",
        examples=[IMDS_VERSIONS[-1]],
    )


class JournalPage(Body):
    after: int = Field(0, ge=0, le=2**62, description="The number of the last record you have.", examples=[56])
    limit: int = Field(500, ge=1, le=10_000, description="At most so many.", examples=[500])
    about: str = Field(
        "",
        max_length=512,
        description="Only about this: an event's or campaign's id, `vm/NAME`, `host/N`, a scope.",
        examples=["vm/web-0"],
    )


class StreamFrom(Body):
    after: int | None = Field(
        None,
        ge=0,
        le=2**62,
        description="The number of the last record you have; from now on if left out. `Last-Event-ID` counts too.",
        examples=[56],
    )


class StoryQuery(Body):
    """One event, or all that were made in a stretch of the journal."""

    event: str = Field(
        "",
        max_length=64,
        description="The id of an event, ended or not.",
        examples=["4CAEA225-A741-474D-A72E-428C86FCD853"],
    )
    after: int | None = Field(
        None, ge=0, le=2**62, description="Instead: the events that were made after this record.", examples=[56]
    )
    to: int | None = Field(
        None, ge=0, le=2**62, description="And not after this one; the newest if left out.", examples=[80]
    )

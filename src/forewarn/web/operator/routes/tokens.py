"""Tokens of people and programs: made, listed, revoked. Only an admin comes here; the gate sees to that."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import Field

from forewarn.core.refusal import Hint, Refused
from forewarn.core.tokens.values import AccessToken, MakeToken, RevokeToken, Role
from forewarn.web.access import digest_of, new_token
from forewarn.web.operator.desk import Desk, TheDesk, TheLook, TheMover
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.answers import Answer
from forewarn.web.operator.schema.requests import Body, Name

router = routes_below("/v1/tokens", "tokens")
RoleName: TypeAlias = Literal["read", "operate", "admin", "relay"]  # as ``core.tokens`` has them
_ID_BYTES = 6  # ours: an id is no secret; among a thousand tokens two alike are one in hundreds of millions
_SECRET_BYTES = 32  # as many as SHA-256 can tell apart


class TokenBody(Body):
    name: str = Field(description="Of the person or program; activity shows it.", max_length=40, examples=["anna"])
    role: RoleName = Field("read", description="What it may do.", examples=["operate"])
    vms: list[Name] = Field([], description="Of a relay: the VMs that it may speak for.", examples=[["web-0"]])
    host: Name | None = Field(None, description="Of a relay: for the VMs on this host.", examples=["host-3"])


class TokenAnswer(Answer):
    id: str = Field(description="Tells tokens apart; no secret.", examples=["5f3a9c1e20b7"])
    name: str = Field(description="Of the person or program.", examples=["anna"])
    role: RoleName = Field(description="What it may do.", examples=["operate"])
    vms: list[str] = Field(description="Of a relay: the VMs that it may speak for.", examples=[["web-0"]])
    host: str = Field(description="Of a relay: for the VMs on this host; else empty.", examples=["host-3"])
    made_at: datetime = Field(description="When it was made.", examples=["2026-01-01T12:00:00Z"])


class TokensAnswer(Answer):
    tokens: list[TokenAnswer] = Field(description="Those that hold, by name.")


class MadeTokenAnswer(Answer):
    id: str = Field(description="Tells tokens apart; no secret.", examples=["5f3a9c1e20b7"])
    name: str = Field(description="Of the person or program.", examples=["anna"])
    role: RoleName = Field(description="What it may do.", examples=["operate"])
    token: str = Field(description="For `Authorization: Bearer`. It is told this once.", examples=["fwt-5f3a-9c"])


class RevokedTokenAnswer(Answer):
    revoked: str = Field(description="The name of the token that holds no more.", examples=["anna"])


@router.get("", summary="List tokens")
async def list_tokens(look: TheLook) -> TokensAnswer:
    """Names and roles. The server's own token is not among them: it is a setting."""
    found = sorted(look.region.tokens.values(), key=lambda token: token.name.lower())
    return TokensAnswer(tokens=[_fields(token) for token in found])


@router.post("", status_code=201, summary="Make a token")
async def make_token(body: TokenBody, desk: TheDesk, asker: TheMover) -> MadeTokenAnswer:
    """The journal keeps a digest of it. Only where the server has a token of its own: else nobody is asked for one."""
    _check_wanted(desk)
    system = desk.plane.system
    token_id = system.random_bytes(_ID_BYTES).hex()
    token = new_token(token_id, system.random_bytes(_SECRET_BYTES))
    vms, host = tuple(body.vms), body.host or ""
    await asker.submit(MakeToken(token_id, body.name, Role(body.role), digest_of(token), vms, host))
    return MadeTokenAnswer(id=token_id, name=body.name, role=body.role, token=token)


@router.delete("/{token}", summary="Revoke a token")
async def revoke_token(token: str, asker: TheMover) -> RevokedTokenAnswer:
    """By its name or id. It holds no more from this moment, on any node, and its sessions in the portal end."""
    facts = await asker.submit(RevokeToken(token))
    name = next(getattr(fact, "name", token) for fact in facts)
    return RevokedTokenAnswer(revoked=name)


def _check_wanted(desk: Desk) -> None:
    if not desk.tokens.wanted:
        sentence = "This server asks nobody for a token, so one would protect nothing: start it with FOREWARN_TOKEN."
        raise Refused(Hint.CONFLICT, sentence)


def _fields(token: AccessToken) -> TokenAnswer:
    return TokenAnswer(
        id=token.id,
        name=token.name,
        role=token.role.value,
        vms=list(token.vms),
        host=token.host,
        made_at=token.made_at,
    )

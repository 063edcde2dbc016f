"""Where things are, and how a client gets its token."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from forewarn.web.documents.whereabouts import TENANT
from tests.unit.web.resource_manager.bench import URL, Bench, S, open_bench

pytestmark = pytest.mark.anyio
IDENTITY = "/metadata/identity/oauth2/token"


def claims(token: str) -> dict[str, Any]:
    body = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return found


async def test_the_endpoints_are_an_object_or_a_list_of_one(bench: Bench) -> None:
    found = (await bench.client.get("/metadata/endpoints?api-version=2022-09-01")).json()
    as_list = (await bench.client.get("/metadata/endpoints?list=1")).json()

    assert as_list == [found]
    assert found["resourceManager"] == found["authentication"]["loginEndpoint"] == URL
    assert found["authentication"]["audiences"][0] == URL
    assert found["vmImageAliasDoc"] == f"{URL}/aliases.json"


async def test_links_are_made_of_the_host_that_was_asked(bench: Bench) -> None:
    found = (await bench.client.get("/metadata/endpoints", headers={"Host": "localhost:1"})).json()

    assert found["resourceManager"] == "https://localhost:1"


async def test_aliases_name_images(bench: Bench) -> None:
    found = (await bench.client.get("/aliases.json")).json()["outputs"]["aliases"]["value"]

    assert found["Linux"]["Ubuntu2204"]["publisher"] == "Canonical"
    assert set(found) == {"Linux", "Windows"}


@pytest.mark.parametrize(
    ("path", "token_path"),
    [
        (f"/{TENANT}/v2.0/.well-known/openid-configuration", f"/{TENANT}/oauth2/v2.0/token"),
        ("/adfs/.well-known/openid-configuration", "/adfs/oauth2/token/"),
        ("/adfs/adfs/v2.0/.well-known/openid-configuration", "/adfs/oauth2/v2.0/token"),
    ],
)
async def test_a_service_principal_logs_in(bench: Bench, path: str, token_path: str) -> None:
    places = (await bench.client.get(path, headers={"Authorization": ""})).json()
    assert places["token_endpoint"] == URL + token_path

    form = {"client_id": "me", "client_secret": "any", "grant_type": "client_credentials", "scope": f"{URL}/.default"}
    found = (await bench.client.post(token_path, data=form, headers={"Authorization": ""})).json()

    assert found["token_type"] == "Bearer"
    assert found["expires_in"] == 86400
    assert (claims(found["access_token"])["tid"], claims(found["access_token"])["aud"]) == (TENANT, URL)


async def test_only_service_principals_log_in(bench: Bench) -> None:
    answer = await bench.client.post(f"/{TENANT}/oauth2/v2.0/token", data={"grant_type": "password"})

    assert (answer.status_code, answer.json()["error"]) == (400, "unsupported_grant_type")


@pytest.mark.parametrize("header", [{"Metadata": "true"}, {"X-IDENTITY-HEADER": "x"}])
async def test_a_managed_identity_gets_a_token(bench: Bench, header: dict[str, str]) -> None:
    found = (await bench.client.get(f"{IDENTITY}?api-version=2018-02-01&resource={URL}", headers=header)).json()

    assert claims(found["access_token"])["tid"] == TENANT
    assert found["resource"] == URL
    assert int(found["expires_on"]) - int(found["not_before"]) == int(found["expires_in"])


@pytest.mark.parametrize(
    ("header", "query"),
    [
        ({}, "resource=x"),
        ({"Metadata": "true", "X-Forwarded-For": "10.0.0.1"}, "resource=x"),
        ({"Metadata": "true"}, ""),
    ],
)
async def test_a_managed_identity_asks_for_itself_and_for_something(
    bench: Bench, header: dict[str, str], query: str
) -> None:
    answer = await bench.client.get(f"{IDENTITY}?{query}", headers=header)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


async def test_a_server_with_a_secret_takes_only_its_own_tokens() -> None:
    async with open_bench(secret="sesame") as bench:
        await bench.ask("GET", S, status=401)
        form = {"client_id": "me", "client_secret": "wrong", "grant_type": "client_credentials"}
        refused = await bench.client.post(f"/{TENANT}/oauth2/v2.0/token", data=form)
        form["client_secret"] = "sesame"
        token = (await bench.client.post(f"/{TENANT}/oauth2/v2.0/token", data=form)).json()["access_token"]

        await bench.ask("GET", S, headers={"Authorization": f"Bearer {token}"})
        head, body, _ = token.split(".")
        for forged in (f"{head}.{body}.", f"{head}.{body}.AAAA", token + "x"):
            await bench.ask("GET", S, status=401, headers={"Authorization": f"Bearer {forged}"})

    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")


async def test_a_server_with_a_secret_gives_identities_to_those_who_show_it() -> None:
    async with open_bench(secret="sesame") as bench:
        for headers in ({"Metadata": "true"}, {"X-IDENTITY-HEADER": "wrong"}):
            refused = await bench.client.get(f"{IDENTITY}?resource=x", headers=headers)
            assert (refused.status_code, refused.json()["error"]) == (401, "unauthorized")
        answer = await bench.client.get(f"{IDENTITY}?resource=x", headers={"X-IDENTITY-HEADER": "sesame"})

        token = answer.json()["access_token"]
        await bench.ask("GET", S, headers={"Authorization": f"Bearer {token}"})

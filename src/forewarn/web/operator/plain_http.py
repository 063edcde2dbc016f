"""What clients of the Resource Manager must fetch without https before they can use it.

A managed identity gets its token over plain http, on loopback: so does every ``az`` command after ``forewarn az-env``.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse

from forewarn.web.host_names import LOOPBACK_HOSTS
from forewarn.web.introduction import Introduction


def add_plain_http(app: FastAPI, introduction: Introduction) -> None:
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

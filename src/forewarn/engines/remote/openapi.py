"""The open protocol as an OpenAPI document, made from the shapes that are really read and written."""

from __future__ import annotations

from typing import Any

import msgspec

from forewarn.engines.remote import messages as m

_SHAPES = (
    m.EngineCard,
    m.WantedErrand,
    m.DoneAnswer,
    m.TakenAnswer,
    m.EngineRefusal,
    m.HostListing,
    m.CursorAnswer,
    m.OwnerMark,
    m.EngineFindings,
)
_DESCRIPTION = (
    "What a program answers so that forewarn can have events performed on the machines that it runs. Over a Unix "
    "socket, by https with a token, or as lines on stdin and stdout. docs/engine-protocol.md explains it; "
    "'forewarn engine check' tries it."
)


def document() -> dict[str, Any]:
    """All of it, ready to be written as JSON."""
    _, components = msgspec.json.schema_components(_SHAPES, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {"title": "forewarn engine protocol", "version": str(m.PROTOCOL), "description": _DESCRIPTION},
        "security": [{}, {"token": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": components,
        },
    }


def _paths() -> dict[str, Any]:
    errand, host, ref = _in_path("id"), _in_path("host"), _in_path("ref")
    wait = _in_query("wait", "Seconds that the answer may be held while there is nothing to tell.", "number")
    after = _in_query("after", "The cursor of the last answer or listing; one that is not known is answered by 200.")
    way = _in_query("way", "How its requests come to the region: address, nic, unix, network, namespace.")
    state = {
        "200": _answer("What is wanted is there.", m.DoneAnswer),
        "202": _answer("Not there yet: the next change waits for leave, or it is under way.", m.TakenAnswer),
        "422": _no("It cannot be done, and why."),
        "503": _no("Nothing is known: the platform does not answer."),
    }
    unknown_errand = {"404": _no("Not known here, or forgotten.")}
    conflict = {"409": _no("Another errand is open on that machine.")}
    put = _operation("Want something of a machine; with leave, have one change made", {**state, **conflict}, errand)
    put["requestBody"] = _body(m.WantedErrand)
    own = _operation("Mark a machine as the region's (offers: owner)", {"204": {"description": "Marked."}}, host, ref)
    own["requestBody"] = _body(m.OwnerMark)
    return {
        "/v1/engine": {"get": _operation("Who answers", {"200": _answer("An introduction.", m.EngineCard)})},
        "/v1/errands/{id}": {
            "put": put,
            "get": _operation("How far an errand has come", {**state, **unknown_errand}, errand, wait),
            "delete": _operation(
                "Give an errand up, as well as can be: abort a migration, end a pause",
                {"204": {"description": "Given up."}, **unknown_errand},
                errand,
            ),
        },
        **_paths_of_hosts(host, after, wait),
        "/v1/hosts/{host}/machines/{ref}/owner": {
            "put": own,
            "delete": _operation("Take that mark away", {"204": {"description": "Taken away."}}, host, ref),
        },
        "/v1/hosts/{host}/machines/{ref}/findings": {
            "get": _operation(
                "What is to be known of a machine (offers: findings)",
                {"200": _answer("Findings.", m.EngineFindings)},
                host,
                ref,
                way,
            )
        },
    }


def _paths_of_hosts(host: dict[str, Any], after: dict[str, Any], wait: dict[str, Any]) -> dict[str, Any]:
    silent = {"503": _no("That host does not answer.")}
    return {
        "/v1/hosts/{host}/machines": {
            "get": _operation(
                "All machines at a host",
                {"200": _answer("A listing.", m.HostListing), **silent},
                host,
            )
        },
        "/v1/hosts/{host}/changes": {
            "get": _operation(
                "Whether it is worth to list a host again",
                {"200": _answer("It is.", m.CursorAnswer), "204": {"description": "Nothing."}, **silent},
                host,
                after,
                wait,
            )
        },
    }


def _operation(summary: str, responses: dict[str, Any], *parameters: dict[str, Any]) -> dict[str, Any]:
    always = {
        "400": _no("The request is not understood."),
        "401": _no("The token is missing or wrong."),
        "404": _no("There is no such thing here."),
    }
    return {"summary": summary, "parameters": list(parameters), "responses": {**always, **responses}}


def _answer(description: str, shape: type) -> dict[str, Any]:
    return {"description": description, **_content(shape)}


def _no(description: str) -> dict[str, Any]:
    return _answer(description, m.EngineRefusal)


def _body(shape: type) -> dict[str, Any]:
    return {"required": True, **_content(shape)}


def _content(shape: type) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{shape.__name__}"}}}}


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _in_query(name: str, description: str, kind: str = "string") -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": {"type": kind}}

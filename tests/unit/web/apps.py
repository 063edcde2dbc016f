"""Operator apps that are used again: to understand its routes takes an app longer than most tests take."""

from __future__ import annotations

from fastapi import FastAPI

_apps: dict[tuple[object, ...], FastAPI] = {}


def reused(fresh: FastAPI, *kind: object) -> FastAPI:
    """An app of the same kind as this one, which may have answered before, with this one's desk behind it."""
    app = _apps.setdefault(kind, fresh)
    app.state.desk = fresh.state.desk
    return app

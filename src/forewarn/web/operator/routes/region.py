"""The service itself: is it there, and how is it set."""

from __future__ import annotations

import re

from forewarn import __version__
from forewarn.web.operator.desk import TheDesk, TheLook
from forewarn.web.operator.live.changes import clock_fields
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.answers import PingAnswer, SettingAnswer, SettingView

router = routes_below("/v1", "service")

_PASSWORD = re.compile(r"(?<=//)([^:@/]*):.*@")


@router.get("/ping", summary="Is the service there")
async def ping(desk: TheDesk, look: TheLook) -> PingAnswer:
    """Which version and which region answers, what time it is there, how large the region is, and where VMs read."""
    return PingAnswer(
        version=__version__,
        region=desk.region_name,
        data=desk.kept_in,
        now=look.now,
        clock=clock_fields(desk.plane),
        vms=len(look.region.vms),
        seq=look.seq,
        metadata=desk.metadata_url,
    )


@router.get("/settings", summary="Show the settings")
async def settings(desk: TheDesk) -> list[SettingAnswer]:
    """Every setting of the server, its value, and where the value came from."""
    return [
        SettingAnswer(name=each.name, value=_shown(each), source=each.source, help=each.help) for each in desk.settings
    ]


def _shown(setting: SettingView) -> str:
    """The value without secrets. ``server.assembly`` hides them already; this face does not rely on that."""
    if setting.name == "token" and setting.value:
        return "(set)"
    return _PASSWORD.sub(r"\1@", setting.value) if setting.name == "store" else setting.value

"""The numbers that a region's owner may choose. Facts carry what came of them, so old facts never change meaning."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from forewarn.core.causes import CAUSES, Cause


class NotMigratable(StrEnum):
    """What a live migration of a host means for a real machine there that cannot be moved while it runs."""

    REBOOT = "reboot"
    FREEZE = "freeze"
    REFUSE = "refuse"

    @property
    def cause(self) -> Cause | None:
        """The cause of the event that a VM gets which cannot migrate; None where it gets none."""
        return {NotMigratable.REBOOT: Cause.REBOOT, NotMigratable.FREEZE: Cause.FREEZE}.get(self)


class Rules(Struct, frozen=True):
    """Read by *decide* and *settle* only. The three mappings override single cells of the table of causes."""

    update_domains: int = 5  # Azure's default for an availability set
    fault_domains: int = 3  # Azure's most for an availability set
    vms_per_host: int = 20  # ours; Azure does not tell
    placement_group_size: int = 100  # as Azure has it
    availability_set_size: int = 200  # as Azure has it; 0 is no limit
    user_operation_limit: int = 10  # a limit of Azure's preview (docs/protocol.md)
    disable_after: timedelta = timedelta(hours=24)  # Azure disables Scheduled Events for what has not asked for a day
    grace: timedelta = timedelta(seconds=60)  # in which a real machine may shut down by itself before it is cut off
    crash_restarts: int = 3  # within ten minutes, of a real machine; systemd's StartLimitBurst: 5
    when_not_migratable: NotMigratable = NotMigratable.REFUSE
    duration_from_engine: bool = False  # live migrations announce the pause that was measured the last time
    notices: dict[Cause, timedelta] = {}
    recoveries: dict[Cause, timedelta] = {}
    durations: dict[Cause, int] = {}

    def notice(self, cause: Cause) -> timedelta:
        """The minimum warning of a cause; where it is the VM's own, it is never asked here."""
        chosen = self.notices.get(cause, CAUSES[cause].notice)
        assert chosen is not None, f"the notice of {cause} is the VM's own"
        return chosen

    def recovery(self, cause: Cause) -> timedelta:
        """How long an event stays in the document after its impact."""
        return self.recoveries.get(cause, CAUSES[cause].recovery)

    def duration_seconds(self, cause: Cause) -> int:
        """The interruption that a document announces."""
        return self.durations.get(cause, CAUSES[cause].duration_seconds)

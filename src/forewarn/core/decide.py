"""Who answers for which command. What they call is the only place where a rule may say no."""

from __future__ import annotations

from typing import assert_never

from forewarn.core import approvals, fleet, maintenance
from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.draft import Draft


def decide(draft: Draft, command: c.Command) -> None:
    """Record what the command makes happen, or raise ``Refused``."""
    match command:
        case c.Pulse():
            approvals.pulse(draft, command)
        case c.Approve():
            approvals.approve(draft, command)
        case c.CancelEvents():
            approvals.cancel_events(draft, command)
        case c.BeginImpact():
            approvals.begin_impact(draft, command)
        case c.EndImpact():
            approvals.finish_impact(draft, command)
        case c.Tick(moved=moved):
            if moved:
                draft.record(f.ClockMoved(draft.now))
        case c.RestartVms(vms=names, seed=seed):
            maintenance.user_operation(draft, Cause.USER_RESTART, names, seed)
        case c.RedeployVms(vms=names, seed=seed):
            maintenance.user_operation(draft, Cause.USER_REDEPLOY, names, seed)
        case c.EvictVms():
            maintenance.evict(draft, command)
        case c.MaintainHosts():
            maintenance.maintain(draft, command)
        case c.FailHosts():
            maintenance.fail(draft, command)
        case c.StartCampaign():
            maintenance.start_campaign(draft, command)
        case c.PauseCampaign():
            maintenance.pause_campaign(draft, command)
        case c.ResumeCampaign():
            maintenance.resume_campaign(draft, command)
        case c.CancelCampaign():
            maintenance.cancel_campaign(draft, command)
        case c.CreateVms():
            fleet.create(draft, command)
        case c.BindVm():
            fleet.bind(draft, command)
        case c.SetPolicy():
            fleet.set_policy(draft, command)
        case c.DeleteVms():
            fleet.delete(draft, command)
        case c.DeallocateVms():
            fleet.deallocate(draft, command)
        case c.StartVms():
            fleet.start(draft, command)
        case _:
            assert_never(command)

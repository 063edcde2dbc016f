"""Who answers for which command. What they call is the only place where a rule may say no."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.deciding import approvals, fleet, impacts, maintenance, operations, rolling, scale_sets
from forewarn.core.deciding.machines import adoption, hosts, reports, sightings
from forewarn.core.deciding.tokens import decide_token
from forewarn.core.draft import Draft
from forewarn.core.looking.lookup import scale_set_named
from forewarn.core.tokens.values import MakeToken, RevokeToken

_OfFleet: TypeAlias = (
    c.CreateVms
    | c.BindVm
    | c.BindNic
    | c.SetPolicy
    | c.DeleteVms
    | c.DeallocateVms
    | c.StartVms
    | c.StopVms
    | c.RespecifyVm
    | c.ReimageVms
    | c.PutAvailabilitySet
    | c.DeleteAvailabilitySet
)
_OfScaleSet: TypeAlias = (
    c.PutScaleSet
    | c.DeleteScaleSet
    | c.DeleteInstances
    | c.UpgradeInstances
    | c.StartRollingUpgrade
    | c.CancelRollingUpgrade
    | c.ProtectInstance
)


def decide(draft: Draft, command: c.Command) -> None:
    """Record what the command makes happen, or raise ``Refused``."""
    if not isinstance(command, c.Together):
        _decide(draft, command)
        return
    for single in command.commands:
        _decide(draft, single)
    if command.operation:
        operations.start(draft, command)


def _decide(draft: Draft, command: c.Single) -> None:
    match command:
        case c.Pulse():
            approvals.pulse(draft, command)
        case c.Approve():
            approvals.approve(draft, command)
        case c.CancelEvents():
            approvals.cancel_events(draft, command)
        case c.BeginImpact():
            impacts.begin_impact(draft, command)
        case c.EndImpact():
            impacts.finish_impact(draft, command)
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
        case MakeToken() | RevokeToken():
            decide_token(draft, command)
        case c.KeepResource() | c.ForgetResource():
            operations.keep_or_forget(draft, command)
        case (
            c.RegisterHost()
            | c.RemoveHost()
            | c.DrainHost()
            | c.ResumeHost()
            | c.HostFellSilent()
            | c.HostAnswered()
            | c.FenceHost()
            | c.ConfirmLost()
            | c.AdoptMachine()
            | c.ReleaseMachine()
            | c.TryErrand()
            | c.ReportErrand()
            | c.Sight()
        ):
            _decide_machines(draft, command)
        case _:
            _decide_fleet(draft, command)


def _decide_machines(draft: Draft, command: c.OfMachines) -> None:
    match command:
        case c.RegisterHost():
            hosts.register(draft, command)
        case c.RemoveHost():
            hosts.remove(draft, command)
        case c.DrainHost():
            hosts.drain(draft, command)
        case c.ResumeHost():
            hosts.resume(draft, command)
        case c.HostFellSilent():
            hosts.fell_silent(draft, command)
        case c.HostAnswered():
            hosts.answered(draft, command)
        case c.FenceHost():
            hosts.fence(draft, command)
        case c.ConfirmLost():
            hosts.confirm_lost(draft, command)
        case c.AdoptMachine():
            adoption.adopt(draft, command)
        case c.ReleaseMachine():
            adoption.release(draft, command)
        case c.TryErrand():
            reports.try_errand(draft, command)
        case c.ReportErrand():
            reports.report(draft, command)
        case c.Sight():
            sightings.sight(draft, command)
        case _:
            assert_never(command)


def _decide_fleet(draft: Draft, command: _OfFleet | _OfScaleSet) -> None:
    match command:
        case c.CreateVms():
            fleet.create(draft, command)
        case c.BindVm():
            fleet.bind(draft, command)
        case c.BindNic():
            fleet.bind_nic(draft, command)
        case c.SetPolicy(scope=scope):
            of_a_set = scope.lower().startswith("placement-group/")
            (scale_sets if of_a_set else fleet).set_policy(draft, command)
        case c.DeleteVms():
            fleet.delete(draft, command)
        case c.DeallocateVms():
            fleet.deallocate(draft, command)
        case c.StartVms():
            fleet.start(draft, command)
        case c.StopVms():
            fleet.stop(draft, command)
        case c.RespecifyVm():
            fleet.respecify(draft, command)
        case c.ReimageVms():
            maintenance.reimage(draft, command)
        case c.PutAvailabilitySet():
            fleet.put_availability_set(draft, command)
        case c.DeleteAvailabilitySet():
            fleet.delete_availability_set(draft, command)
        case _:
            _decide_scale_set(draft, command)


def _decide_scale_set(draft: Draft, command: _OfScaleSet) -> None:
    match command:
        case c.PutScaleSet():
            scale_sets.put(draft, command)
        case c.DeleteScaleSet():
            scale_sets.delete(draft, command)
        case c.DeleteInstances():
            scale_sets.delete_instances(draft, command)
        case c.UpgradeInstances():
            scale_sets.upgrade(draft, command)
        case c.StartRollingUpgrade(scale_set=name):
            rolling.start_asked(draft, scale_set_named(draft.region, name))
        case c.CancelRollingUpgrade(scale_set=name):
            rolling.cancel(draft, scale_set_named(draft.region, name))
        case c.ProtectInstance():
            scale_sets.protect(draft, command)
        case _:
            assert_never(command)

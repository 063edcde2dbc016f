<#
.SYNOPSIS
List the Scheduled Events of this VM, or approve some.

.DESCRIPTION
NOT TESTED HERE: this project's tests run on Debian, which has no PowerShell. The Python and C# examples beside it do
the same and are run by the tests.

.EXAMPLE
./ScheduledEvents.ps1
One line for each event.

.EXAMPLE
./ScheduledEvents.ps1 -Approve 4CAEA225-A741-474D-A72E-428C86FCD853
Let an event start now.

.PARAMETER Service
Where the service is: a VM of a forewarn region for instance, http://127.0.0.1:16925/vm/web-0
#>
[CmdletBinding()]
param(
    [string[]] $Approve = @(),
    [string] $Service = 'http://169.254.169.254'
)

$ErrorActionPreference = 'Stop'
$call = @{
    Uri        = "$($Service.TrimEnd('/'))/metadata/scheduledevents?api-version=2020-07-01"
    Headers    = @{ Metadata = 'true' }
    TimeoutSec = 130  # the first call of a VM switches the service on, which may take two minutes
}
if ($PSVersionTable.PSVersion.Major -ge 6) {
    $call.NoProxy = $true  # the service is on this machine's own link: a proxy must never see these requests
}

if ($Approve.Count -gt 0) {
    $requests = @($Approve | ForEach-Object { @{ EventId = $_ } })
    $body = @{ StartRequests = $requests } | ConvertTo-Json -Depth 3
    Invoke-RestMethod @call -Method Post -Body $body -ContentType 'application/json' | Out-Null
    return
}

$document = Invoke-RestMethod @call -Method Get
foreach ($found in @($document.Events | Where-Object { $_ })) {
    $notBefore = if ($found.NotBefore) { $found.NotBefore } else { 'now' }
    "{0}`t{1}`t{2}`t{3}`t{4}" -f $found.EventId, $found.EventType, $found.EventStatus, ($found.Resources -join ','), $notBefore
}

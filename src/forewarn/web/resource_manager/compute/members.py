"""What may stand in a body: the members of Microsoft.Compute's objects, as of api-version 2026-04-01.

One object to a paragraph, each member with what it holds: ``s`` text, ``b`` a boolean, ``i`` a whole number, ``n`` a
number, ``*`` anything, ``!`` what the service alone writes and a caller's value is not looked at, the name of an
object, ``[x]`` a list and ``{x}`` a map of such. Members that older api-versions had and newer ones have not are kept.
``schema`` reads this.
"""

NEWEST = "2026-04-01"  # what a caller with a newer api-version may add is not known here, and accepted

# Members that a request with an older api-version cannot carry. What the table below has beside these was there early
# enough, or matters to nothing here.
SINCE = {
    ("VirtualMachineScaleSetVMProfile", "scheduledEventsProfile"): "2019-03-01",
    ("VirtualMachineProperties", "scheduledEventsProfile"): "2021-03-01",
    ("ScheduledEventsProfile", "osImageNotificationProfile"): "2022-11-01",
    ("VirtualMachineProperties", "scheduledEventsPolicy"): "2024-03-01",
    ("VirtualMachineScaleSetProperties", "scheduledEventsPolicy"): "2024-03-01",
    ("AvailabilitySetProperties", "scheduledEventsPolicy"): "2024-07-01",
    ("ScheduledEventsPolicy", "allInstancesDown"): "2025-04-01",
    ("EventGridAndResourceGraph", "scheduledEventsApiVersion"): "2025-04-01",
}

TABLE = """
VirtualMachine: id=! name=! type=! systemData=! tags={s} location=s properties=VirtualMachineProperties plan=Plan
  resources=! identity=VirtualMachineIdentity zones=[s] extendedLocation=ExtendedLocation managedBy=! etag=!
  placement=Placement apiVersion=! dependsOn=! comments=!
VirtualMachineScaleSet: id=! name=! type=! systemData=! tags={s} location=s sku=Sku plan=Plan
  properties=VirtualMachineScaleSetProperties identity=VirtualMachineScaleSetIdentity zones=[s]
  extendedLocation=ExtendedLocation etag=! placement=Placement apiVersion=! dependsOn=! comments=!
VirtualMachineScaleSetUpdate: id=! name=! type=! systemData=! tags={s} location=s sku=Sku plan=Plan
  properties=VirtualMachineScaleSetUpdateProperties identity=VirtualMachineScaleSetIdentity zones=[s]
  extendedLocation=ExtendedLocation etag=! placement=Placement apiVersion=! dependsOn=! comments=!
VirtualMachineScaleSetVM: id=! name=! type=! systemData=! tags={s} location=s
  properties=VirtualMachineScaleSetVMProperties instanceId=! sku=! plan=Plan resources=! zones=!
  identity=VirtualMachineIdentity etag=! apiVersion=! dependsOn=! comments=!
AvailabilitySet: id=! name=! type=! systemData=! tags={s} location=s properties=AvailabilitySetProperties sku=Sku
  apiVersion=! dependsOn=! comments=!
InstanceSelection: instanceIds=[s] tempDisk=b forceUpdateOSDiskForEphemeral=b exactVersion=s osProfile=*
VirtualMachineProperties: hardwareProfile=HardwareProfile flexProfile=FlexProfile
  scheduledEventsPolicy=ScheduledEventsPolicy storageProfile=StorageProfile
  additionalCapabilities=AdditionalCapabilities osProfile=OSProfile networkProfile=NetworkProfile
  securityProfile=SecurityProfile diagnosticsProfile=DiagnosticsProfile availabilitySet=SubResource
  virtualMachineScaleSet=SubResource proximityPlacementGroup=SubResource priority=s evictionPolicy=s
  billingProfile=BillingProfile host=SubResource hostGroup=SubResource provisioningState=! instanceView=!
  licenseType=s vmId=! extensionsTimeBudget=s platformFaultDomain=i scheduledEventsProfile=ScheduledEventsProfile
  userData=s capacityReservation=CapacityReservationProfile interconnectBlockProfile=InterconnectBlockProfile
  applicationProfile=ApplicationProfile timeCreated=! resiliencyProfile=ResiliencyProfile
Plan: name=s publisher=s product=s promotionCode=s
VirtualMachineIdentity: principalId=! tenantId=! type=s userAssignedIdentities={UserAssignedIdentitiesValue}
ExtendedLocation: name=s type=s
Placement: zonePlacementPolicy=s includeZones=[s] excludeZones=[s]
Sku: name=s tier=s capacity=i
VirtualMachineScaleSetProperties: upgradePolicy=UpgradePolicy scheduledEventsPolicy=ScheduledEventsPolicy
  automaticRepairsPolicy=AutomaticRepairsPolicy virtualMachineProfile=VirtualMachineScaleSetVMProfile
  provisioningState=! overprovision=b doNotRunExtensionsOnOverprovisionedVMs=b uniqueId=! singlePlacementGroup=b
  zoneBalance=b platformFaultDomainCount=i proximityPlacementGroup=SubResource hostGroup=SubResource
  additionalCapabilities=AdditionalCapabilities scaleInPolicy=ScaleInPolicy orchestrationMode=s
  spotRestorePolicy=SpotRestorePolicy priorityMixPolicy=PriorityMixPolicy timeCreated=! constrainedMaximumCapacity=b
  resiliencyPolicy=ResiliencyPolicy zonalPlatformFaultDomainAlignMode=s skuProfile=SkuProfile
  highSpeedInterconnectPlacement=s lifecycleHooksProfile=LifecycleHooksProfile
  externalHealthPolicy=ExternalHealthPolicy
VirtualMachineScaleSetIdentity: principalId=! tenantId=! type=s userAssignedIdentities={UserAssignedIdentitiesValue}
VirtualMachineScaleSetUpdateProperties: upgradePolicy=UpgradePolicy automaticRepairsPolicy=AutomaticRepairsPolicy
  virtualMachineProfile=VirtualMachineScaleSetVMProfile overprovision=b doNotRunExtensionsOnOverprovisionedVMs=b
  singlePlacementGroup=b additionalCapabilities=AdditionalCapabilities scaleInPolicy=ScaleInPolicy
  proximityPlacementGroup=SubResource priorityMixPolicy=PriorityMixPolicy spotRestorePolicy=SpotRestorePolicy
  resiliencyPolicy=ResiliencyPolicy zonalPlatformFaultDomainAlignMode=s skuProfile=SkuProfile
  lifecycleHooksProfile=LifecycleHooksProfile provisioningState=! uniqueId=! timeCreated=!
VirtualMachineScaleSetVMProperties: latestModelApplied=! vmId=! instanceView=! hardwareProfile=HardwareProfile
  resilientVMDeletionStatus=s storageProfile=StorageProfile additionalCapabilities=AdditionalCapabilities
  osProfile=OSProfile securityProfile=SecurityProfile networkProfile=NetworkProfile
  networkProfileConfiguration=VirtualMachineScaleSetVMNetworkProfileConfiguration
  diagnosticsProfile=DiagnosticsProfile availabilitySet=SubResource provisioningState=! licenseType=s
  modelDefinitionApplied=! protectionPolicy=VirtualMachineScaleSetVMProtectionPolicy userData=s timeCreated=!
  virtualMachineResourceId=! interconnectBlockProfile=InterconnectBlockProfile
  capacityReservation=CapacityReservationProfile
AvailabilitySetProperties: platformUpdateDomainCount=i platformFaultDomainCount=i virtualMachines=[SubResource]
  proximityPlacementGroup=SubResource statuses=! scheduledEventsPolicy=ScheduledEventsPolicy
  virtualMachineScaleSetMigrationInfo=!
HardwareProfile: vmSize=s vmSizeProperties=VMSizeProperties processorMode=s
FlexProfile: preferredVMSize=s
ScheduledEventsPolicy: userInitiatedRedeploy=UserInitiatedRedeploy userInitiatedReboot=UserInitiatedReboot
  scheduledEventsAdditionalPublishingTargets=ScheduledEventsAdditionalPublishingTargets
  allInstancesDown=AllInstancesDown
StorageProfile: imageReference=ImageReference osDisk=OSDisk dataDisks=[DataDisk] diskControllerType=s
  alignRegionalDisksToVMZone=b diskApiVersion=s
AdditionalCapabilities: ultraSSDEnabled=b hibernationEnabled=b enableFips1403Encryption=b
OSProfile: computerName=s adminUsername=s adminPassword=s customData=s windowsConfiguration=WindowsConfiguration
  linuxConfiguration=LinuxConfiguration secrets=[VaultSecretGroup] allowExtensionOperations=b
  requireGuestProvisionSignal=b
NetworkProfile: networkInterfaces=[NetworkInterfaceReference] networkApiVersion=s
  networkInterfaceConfigurations=[VirtualMachineNetworkInterfaceConfiguration]
  interconnectGroupProfile=InterconnectGroupProfile
SecurityProfile: uefiSettings=UefiSettings encryptionAtHost=b securityType=s encryptionIdentity=EncryptionIdentity
  proxyAgentSettings=ProxyAgentSettings
DiagnosticsProfile: bootDiagnostics=BootDiagnostics
SubResource: id=s
BillingProfile: maxPrice=n
ScheduledEventsProfile: terminateNotificationProfile=TerminateNotificationProfile
  osImageNotificationProfile=OSImageNotificationProfile
CapacityReservationProfile: capacityReservationGroup=SubResource disableCapacityReservationAssignment=b
InterconnectBlockProfile: interconnectBlock=ApiEntityReference
ApplicationProfile: galleryApplications=[VMGalleryApplication]
ResiliencyProfile: zoneMovement=ZoneMovement
UserAssignedIdentitiesValue: principalId=! clientId=!
UpgradePolicy: mode=s rollingUpgradePolicy=RollingUpgradePolicy automaticOSUpgradePolicy=AutomaticOSUpgradePolicy
  automaticOSUpgrade=b
AutomaticRepairsPolicy: enabled=b gracePeriod=s repairAction=s
VirtualMachineScaleSetVMProfile: osProfile=VirtualMachineScaleSetOSProfile
  storageProfile=VirtualMachineScaleSetStorageProfile networkProfile=VirtualMachineScaleSetNetworkProfile
  securityProfile=SecurityProfile diagnosticsProfile=DiagnosticsProfile
  extensionProfile=VirtualMachineScaleSetExtensionProfile licenseType=s priority=s evictionPolicy=s
  billingProfile=BillingProfile scheduledEventsProfile=ScheduledEventsProfile userData=s
  capacityReservation=CapacityReservationProfile interconnectBlockProfile=InterconnectBlockProfile
  applicationProfile=ApplicationProfile hardwareProfile=VirtualMachineScaleSetHardwareProfile
  serviceArtifactReference=ServiceArtifactReference securityPostureReference=SecurityPostureReference timeCreated=!
ScaleInPolicy: rules=[s] forceDeletion=b prioritizeUnhealthyVMs=b
SpotRestorePolicy: enabled=b restoreTimeout=s
PriorityMixPolicy: baseRegularPriorityCount=i regularPriorityPercentageAboveBase=i
ResiliencyPolicy: resilientVMCreationPolicy=ResilientVMCreationPolicy
  resilientVMDeletionPolicy=ResilientVMDeletionPolicy automaticZoneRebalancingPolicy=AutomaticZoneRebalancingPolicy
  zoneAllocationPolicy=ZoneAllocationPolicy operationRecoverySettings=OperationRecoverySettings
SkuProfile: vmSizes=[SkuProfileVMSize] allocationStrategy=s automaticSkuMigrationPolicy=AutomaticSkuMigrationPolicy
LifecycleHooksProfile: lifecycleHooks=[LifecycleHook]
ExternalHealthPolicy: enabled=b expiryDuration=s gracePeriod=s
VirtualMachineScaleSetVMNetworkProfileConfiguration:
  networkInterfaceConfigurations=[VirtualMachineScaleSetNetworkConfiguration]
  interconnectGroupProfile=InterconnectGroupProfile
VirtualMachineScaleSetVMProtectionPolicy: protectFromScaleIn=b protectFromScaleSetActions=b
VMSizeProperties: vCPUsAvailable=i vCPUsPerCore=i
UserInitiatedRedeploy: automaticallyApprove=b
UserInitiatedReboot: automaticallyApprove=b
ScheduledEventsAdditionalPublishingTargets: eventGridAndResourceGraph=EventGridAndResourceGraph
AllInstancesDown: automaticallyApprove=b
ImageReference: id=s publisher=s offer=s sku=s version=s exactVersion=! sharedGalleryImageId=s
  communityGalleryImageId=s
OSDisk: osType=s encryptionSettings=DiskEncryptionSettings name=s vhd=VirtualHardDisk image=VirtualHardDisk caching=s
  writeAcceleratorEnabled=b diffDiskSettings=DiffDiskSettings createOption=s diskSizeGB=i
  storageFaultDomainAlignment=s managedDisk=ManagedDiskParameters deleteOption=s
DataDisk: lun=i name=s vhd=VirtualHardDisk image=VirtualHardDisk caching=s writeAcceleratorEnabled=b createOption=s
  diskSizeGB=i storageFaultDomainAlignment=s managedDisk=ManagedDiskParameters sourceResource=ApiEntityReference
  toBeDetached=b diskIOPSReadWrite=i diskMBpsReadWrite=i detachOption=s deleteOption=s
WindowsConfiguration: provisionVMAgent=b enableAutomaticUpdates=b timeZone=s
  additionalUnattendContent=[AdditionalUnattendContent] patchSettings=PatchSettings winRM=WinRMConfiguration
  enableVMAgentPlatformUpdates=!
LinuxConfiguration: disablePasswordAuthentication=b ssh=SshConfiguration provisionVMAgent=b
  patchSettings=LinuxPatchSettings enableVMAgentPlatformUpdates=b
VaultSecretGroup: sourceVault=SubResource vaultCertificates=[VaultCertificate]
NetworkInterfaceReference: id=s properties=NetworkInterfaceReferenceProperties
VirtualMachineNetworkInterfaceConfiguration: name=s properties=VirtualMachineNetworkInterfaceConfigurationProperties
  tags={s}
InterconnectGroupProfile: interconnectGroup=SubResource subgroups=[SubResource]
UefiSettings: secureBootEnabled=b vTpmEnabled=b
EncryptionIdentity: userAssignedIdentityResourceId=s
ProxyAgentSettings: enabled=b mode=s keyIncarnationId=i wireServer=HostEndpointSettings imds=HostEndpointSettings
  addProxyAgentExtension=b
BootDiagnostics: enabled=b storageUri=s
TerminateNotificationProfile: notBeforeTimeout=s enable=b
OSImageNotificationProfile: notBeforeTimeout=s enable=b
ApiEntityReference: id=s
VMGalleryApplication: tags=s order=i packageReferenceId=s configurationReference=s treatFailureAsDeploymentFailure=b
  enableAutomaticUpgrade=b
ZoneMovement: isEnabled=b
RollingUpgradePolicy: maxBatchInstancePercent=i maxUnhealthyInstancePercent=i maxUnhealthyUpgradedInstancePercent=i
  pauseTimeBetweenBatches=s enableCrossZoneUpgrade=b prioritizeUnhealthyInstances=b
  rollbackFailedInstancesOnPolicyBreach=b maxSurge=b
AutomaticOSUpgradePolicy: enableAutomaticOSUpgrade=b disableAutomaticRollback=b useRollingUpgradePolicy=b
  osRollingUpgradeDeferral=b
VirtualMachineScaleSetOSProfile: computerNamePrefix=s adminUsername=s adminPassword=s customData=s
  windowsConfiguration=WindowsConfiguration linuxConfiguration=LinuxConfiguration secrets=[VaultSecretGroup]
  allowExtensionOperations=b requireGuestProvisionSignal=b
VirtualMachineScaleSetStorageProfile: imageReference=ImageReference osDisk=VirtualMachineScaleSetOSDisk
  dataDisks=[VirtualMachineScaleSetDataDisk] diskControllerType=s diskApiVersion=s
VirtualMachineScaleSetNetworkProfile: healthProbe=ApiEntityReference
  networkInterfaceConfigurations=[VirtualMachineScaleSetNetworkConfiguration] networkApiVersion=s
  interconnectGroupProfile=InterconnectGroupProfile
VirtualMachineScaleSetExtensionProfile: extensions=[VirtualMachineScaleSetExtension] extensionsTimeBudget=s
VirtualMachineScaleSetHardwareProfile: vmSizeProperties=VMSizeProperties processorMode=s
ServiceArtifactReference: id=s
SecurityPostureReference: id=s excludeExtensions=[s] isOverridable=b
ResilientVMCreationPolicy: enabled=b
ResilientVMDeletionPolicy: enabled=b
AutomaticZoneRebalancingPolicy: enabled=b rebalanceStrategy=s rebalanceBehavior=s
ZoneAllocationPolicy: maxZoneCount=i maxInstancePercentPerZonePolicy=MaxInstancePercentPerZonePolicy
OperationRecoverySettings: restartRecoveryPolicy=RestartRecoveryPolicy startRecoveryPolicy=StartRecoveryPolicy
  reimageRecoveryPolicy=ReimageRecoveryPolicy
SkuProfileVMSize: name=s rank=i
AutomaticSkuMigrationPolicy: enabled=b
LifecycleHook: type=s waitDuration=s defaultAction=s
VirtualMachineScaleSetNetworkConfiguration: id=s name=s
  properties=VirtualMachineScaleSetNetworkConfigurationProperties tags={s}
EventGridAndResourceGraph: enable=b scheduledEventsApiVersion=s
DiskEncryptionSettings: diskEncryptionKey=KeyVaultSecretReference keyEncryptionKey=KeyVaultKeyReference enabled=b
VirtualHardDisk: uri=s
DiffDiskSettings: option=s placement=s enableFullCaching=b
ManagedDiskParameters: id=s storageAccountType=s diskEncryptionSet=DiskEncryptionSetParameters
  securityProfile=VMDiskSecurityProfile additionalDiskProperties=AdditionalDiskProperties
AdditionalUnattendContent: passName=s componentName=s settingName=s content=s
PatchSettings: patchMode=s enableHotpatching=b assessmentMode=s
  automaticByPlatformSettings=WindowsVMGuestPatchAutomaticByPlatformSettings
WinRMConfiguration: listeners=[WinRMListener]
SshConfiguration: publicKeys=[SshPublicKey]
LinuxPatchSettings: patchMode=s assessmentMode=s
  automaticByPlatformSettings=LinuxVMGuestPatchAutomaticByPlatformSettings
VaultCertificate: certificateUrl=s certificateStore=s
NetworkInterfaceReferenceProperties: primary=b deleteOption=s
VirtualMachineNetworkInterfaceConfigurationProperties: primary=b deleteOption=s enableAcceleratedNetworking=b
  disableTcpStateTracking=b enableFpga=b enableIPForwarding=b networkSecurityGroup=SubResource
  dnsSettings=VirtualMachineNetworkInterfaceDnsSettingsConfiguration
  ipConfigurations=[VirtualMachineNetworkInterfaceIPConfiguration] dscpConfiguration=SubResource auxiliaryMode=s
  auxiliarySku=s
HostEndpointSettings: mode=s inVMAccessControlProfileReferenceId=s useLocalFileRules=b
VirtualMachineScaleSetOSDisk: name=s caching=s writeAcceleratorEnabled=b createOption=s
  diffDiskSettings=DiffDiskSettings diskSizeGB=i storageFaultDomainAlignment=s osType=s image=VirtualHardDisk
  vhdContainers=[s] managedDisk=VirtualMachineScaleSetManagedDiskParameters deleteOption=s
VirtualMachineScaleSetDataDisk: name=s lun=i caching=s writeAcceleratorEnabled=b createOption=s diskSizeGB=i
  storageFaultDomainAlignment=s managedDisk=VirtualMachineScaleSetManagedDiskParameters diskIOPSReadWrite=i
  diskMBpsReadWrite=i deleteOption=s
VirtualMachineScaleSetExtension: id=! name=s type=! properties=VirtualMachineScaleSetExtensionProperties
MaxInstancePercentPerZonePolicy: enabled=b value=i
RestartRecoveryPolicy: enabled=b
StartRecoveryPolicy: enabled=b
ReimageRecoveryPolicy: enabled=b
VirtualMachineScaleSetNetworkConfigurationProperties: primary=b enableAcceleratedNetworking=b
  disableTcpStateTracking=b enableFpga=b networkSecurityGroup=SubResource
  dnsSettings=VirtualMachineScaleSetNetworkConfigurationDnsSettings
  ipConfigurations=[VirtualMachineScaleSetIPConfiguration] enableIPForwarding=b deleteOption=s auxiliaryMode=s
  auxiliarySku=s
KeyVaultSecretReference: secretUrl=s sourceVault=SubResource
KeyVaultKeyReference: keyUrl=s sourceVault=SubResource
DiskEncryptionSetParameters: id=s
VMDiskSecurityProfile: securityEncryptionType=s diskEncryptionSet=DiskEncryptionSetParameters
AdditionalDiskProperties: managedDiskProperties=VirtualMachineDiskProperties
WindowsVMGuestPatchAutomaticByPlatformSettings: rebootSetting=s bypassPlatformSafetyChecksOnUserSchedule=b
WinRMListener: protocol=s certificateUrl=s
SshPublicKey: path=s keyData=s
LinuxVMGuestPatchAutomaticByPlatformSettings: rebootSetting=s bypassPlatformSafetyChecksOnUserSchedule=b
VirtualMachineNetworkInterfaceDnsSettingsConfiguration: dnsServers=[s]
VirtualMachineNetworkInterfaceIPConfiguration: name=s
  properties=VirtualMachineNetworkInterfaceIPConfigurationProperties
VirtualMachineScaleSetManagedDiskParameters: storageAccountType=s diskEncryptionSet=DiskEncryptionSetParameters
  securityProfile=VMDiskSecurityProfile additionalDiskProperties=AdditionalDiskProperties
VirtualMachineScaleSetExtensionProperties: forceUpdateTag=s publisher=s type=s typeHandlerVersion=s
  autoUpgradeMinorVersion=b enableAutomaticUpgrade=b settings=* protectedSettings=* provisioningState=!
  provisionAfterExtensions=[s] suppressFailures=b protectedSettingsFromKeyVault=KeyVaultSecretReference
VirtualMachineScaleSetNetworkConfigurationDnsSettings: dnsServers=[s]
VirtualMachineScaleSetIPConfiguration: id=s name=s properties=VirtualMachineScaleSetIPConfigurationProperties
VirtualMachineDiskProperties: tier=s burstingEnabled=b performancePlus=b optimizedForFrequentAttach=b
  availabilityPolicy=DiskAvailabilityPolicy maxShares=i networkAccessPolicy=s diskAccessId=s diskIOPSReadOnly=i
  diskMBpsReadOnly=i logicalSectorSize=i
VirtualMachineNetworkInterfaceIPConfigurationProperties: subnet=SubResource primary=b
  publicIPAddressConfiguration=VirtualMachinePublicIPAddressConfiguration privateIPAddressVersion=s
  privateIPAddressPrefixLength=i applicationSecurityGroups=[SubResource]
  applicationGatewayBackendAddressPools=[SubResource] loadBalancerBackendAddressPools=[SubResource]
VirtualMachineScaleSetIPConfigurationProperties: subnet=ApiEntityReference primary=b
  publicIPAddressConfiguration=VirtualMachineScaleSetPublicIPAddressConfiguration privateIPAddressVersion=s
  privateIPAddressPrefixLength=i applicationGatewayBackendAddressPools=[SubResource]
  applicationSecurityGroups=[SubResource] loadBalancerBackendAddressPools=[SubResource]
  loadBalancerInboundNatPools=[SubResource]
DiskAvailabilityPolicy: actionOnDiskDelay=s
VirtualMachinePublicIPAddressConfiguration: name=s properties=VirtualMachinePublicIPAddressConfigurationProperties
  sku=PublicIPAddressSku tags={s}
VirtualMachineScaleSetPublicIPAddressConfiguration: name=s
  properties=VirtualMachineScaleSetPublicIPAddressConfigurationProperties sku=PublicIPAddressSku tags={s}
VirtualMachinePublicIPAddressConfigurationProperties: idleTimeoutInMinutes=i deleteOption=s
  dnsSettings=VirtualMachinePublicIPAddressDnsSettingsConfiguration ipTags=[VirtualMachineIpTag]
  publicIPPrefix=SubResource publicIPAddressVersion=s publicIPAllocationMethod=s
PublicIPAddressSku: name=s tier=s
VirtualMachineScaleSetPublicIPAddressConfigurationProperties: idleTimeoutInMinutes=i
  dnsSettings=VirtualMachineScaleSetPublicIPAddressConfigurationDnsSettings ipTags=[VirtualMachineScaleSetIpTag]
  publicIPPrefix=SubResource publicIPAddressVersion=s deleteOption=s
VirtualMachinePublicIPAddressDnsSettingsConfiguration: domainNameLabel=s domainNameLabelScope=s
VirtualMachineIpTag: ipTagType=s tag=s firstPartyServiceTagId=s
VirtualMachineScaleSetPublicIPAddressConfigurationDnsSettings: domainNameLabel=s domainNameLabelScope=s
VirtualMachineScaleSetIpTag: ipTagType=s tag=s firstPartyServiceTagId=s
"""

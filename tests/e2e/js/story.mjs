// The sequence that users of @azure/arm-compute know, against a forewarn region. Run by tests/e2e/test_sdk.py.
// The modules are where `make` has put them; what the story finds it prints as JSON.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.env.STORY_MODULES}/`));
const { ComputeManagementClient } = require("@azure/arm-compute");

const MANAGER = process.env.AZURE_RESOURCE_MANAGER_URL;
const METADATA = process.env.STORY_METADATA;
const SUBSCRIPTION = process.env.AZURE_SUBSCRIPTION_ID;
const GROUP = "js";
const LOCATION = "westus";
const PATIENCE_MS = 60_000;
const credential = { getToken: async () => ({ token: "any", expiresOnTimestamp: Date.now() + 3_600_000 }) };
const found = {};
const follow = { followed: 0, silent: [] };

// Every answer that is to be followed says how soon.
const watching = {
  name: "follow",
  sendRequest: async (request, next) => {
    const answer = await next(request);
    let followed = answer.status === 202 || answer.headers.has("azure-asyncoperation");
    if (request.url.includes("/operations/") && answer.status === 200 && answer.bodyAsText) {
      followed = JSON.parse(answer.bodyAsText).status === "InProgress";
    }
    if (followed) {
      follow.followed += 1;
      if (!(Number(answer.headers.get("retry-after")) >= 1)) follow.silent.push(`${request.method} ${request.url}`);
    }
    return answer;
  },
};

const client = new ComputeManagementClient(credential, SUBSCRIPTION, {
  endpoint: MANAGER,
  additionalPolicies: [{ policy: watching, position: "perRetry" }],
});
const { availabilitySets, virtualMachines, virtualMachineScaleSets, virtualMachineScaleSetVMs } = client;

async function metadata(vm, body) {
  const url = `${METADATA}/vm/${vm}/metadata/scheduledevents?api-version=2020-07-01`;
  const headers = { Metadata: "true" };
  const answer = await fetch(url, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  const text = await answer.text();
  return text ? JSON.parse(text) : null;
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 200));

async function until(question) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await question();
    if (answer) return answer;
    if (Date.now() > deadline) throw new Error("waited in vain");
    await pause();
  }
}

// Wait for an event of that type and let it start; whom it hits.
function approve(vm, wanted) {
  return until(async () => {
    const { Events } = await metadata(vm);
    const event = Events.find((each) => each.EventType === wanted && each.EventStatus === "Scheduled");
    if (!event) return null;
    await metadata(vm, { StartRequests: [{ EventId: event.EventId }] });
    return event.Resources[0];
  });
}

async function all(list) {
  const items = [];
  for await (const item of list) items.push(item);
  return items;
}

async function refused(call) {
  try {
    await call();
    return ["not refused"];
  } catch (error) {
    return [error.statusCode, error.code, error.message];
  }
}

const power = (view) => view.statuses.find((status) => status.code.startsWith("PowerState/")).code;

const terminate = (notBeforeTimeout) => ({
  scheduledEventsProfile: { terminateNotificationProfile: { notBeforeTimeout, enable: true } },
});

const model = (capacity, profile = {}) => ({
  location: LOCATION,
  sku: { name: "Standard_D2s_v5", capacity },
  orchestrationMode: "Uniform",
  upgradePolicy: { mode: "Manual" },
  virtualMachineProfile: { osProfile: { computerNamePrefix: "web", adminUsername: "me" }, ...profile },
});

async function makeGroup() {
  const url = `${MANAGER}/subscriptions/${SUBSCRIPTION}/resourcegroups/${GROUP}?api-version=2024-11-01`;
  const headers = { Authorization: "Bearer any", "Content-Type": "application/json" };
  const answer = await fetch(url, { method: "PUT", headers, body: JSON.stringify({ location: LOCATION }) });
  if (answer.status !== 201) throw new Error(await answer.text());
}

async function machines() {
  const front = await availabilitySets.createOrUpdate(GROUP, "front", { location: LOCATION, sku: { name: "Aligned" } });
  const made = await virtualMachines.createOrUpdate(GROUP, "uno", {
    location: LOCATION,
    hardwareProfile: { vmSize: "Standard_DS1_v2" },
    availabilitySet: { id: front.id },
  });
  found.vm = [made.provisioningState, made.hardwareProfile.vmSize];
  await metadata("uno");
  const restarting = virtualMachines.restart(GROUP, "uno");
  await restarting.submitted();
  found.restarted = await approve("uno", "Reboot");
  await restarting.pollUntilDone();
  const redeploying = virtualMachines.redeploy(GROUP, "uno");
  await redeploying.submitted();
  await approve("uno", "Redeploy");
  await redeploying.pollUntilDone();
  await virtualMachines.deallocate(GROUP, "uno");
  found.power = power(await virtualMachines.instanceView(GROUP, "uno"));
  found.notSpot = await refused(() => virtualMachines.simulateEviction(GROUP, "uno"));
  await virtualMachines.createOrUpdate(GROUP, "barato", {
    location: LOCATION,
    priority: "Spot",
    evictionPolicy: "Delete",
  });
  await virtualMachines.simulateEviction(GROUP, "barato");
  await until(async () => (await all(virtualMachines.list(GROUP))).every((vm) => vm.name !== "barato"));
  await virtualMachines.delete(GROUP, "uno");
  await availabilitySets.delete(GROUP, "front");
}

async function scaleSets() {
  const made = await virtualMachineScaleSets.createOrUpdate(GROUP, "red", model(3, terminate("PT10M")));
  const profile = made.virtualMachineProfile.scheduledEventsProfile.terminateNotificationProfile;
  found.created = [made.provisioningState, made.sku.capacity, profile.notBeforeTimeout, profile.enable];
  const changed = await virtualMachineScaleSets.update(GROUP, "red", { virtualMachineProfile: terminate("PT5M") });
  found.updated = changed.virtualMachineProfile.scheduledEventsProfile.terminateNotificationProfile.notBeforeTimeout;
  await virtualMachineScaleSets.updateInstances(GROUP, "red", { instanceIds: ["*"] });
  found.latest = (await all(virtualMachineScaleSetVMs.list(GROUP, "red"))).map((vm) => vm.latestModelApplied);
  await metadata("red_0");
  const going = virtualMachineScaleSets.deleteInstances(GROUP, "red", { instanceIds: ["1"] });
  await going.submitted();
  found.waits = !going.isDone;
  found.terminated = await approve("red_0", "Terminate");
  await going.pollUntilDone();
  found.left = (await all(virtualMachineScaleSetVMs.list(GROUP, "red"))).map((vm) => vm.instanceId);
  found.noInstance = await refused(() => virtualMachineScaleSetVMs.get(GROUP, "red", "1"));
  const restarting = virtualMachineScaleSetVMs.restart(GROUP, "red", "2");
  await restarting.submitted();
  await approve("red_0", "Reboot");
  await restarting.pollUntilDone();
  await virtualMachineScaleSets.createOrUpdate(
    GROUP,
    "rojo",
    model(1, { priority: "Spot", evictionPolicy: "Deallocate" }),
  );
  await virtualMachineScaleSetVMs.simulateEviction(GROUP, "rojo", "0");
  const view = () => virtualMachineScaleSetVMs.getInstanceView(GROUP, "rojo", "0");
  await until(async () => power(await view()) === "PowerState/deallocated");
  await virtualMachineScaleSets.createOrUpdate(GROUP, "rubio", model(150));
  found.listed = (await all(virtualMachineScaleSetVMs.list(GROUP, "rubio"))).length;
  await virtualMachineScaleSets.delete(GROUP, "rubio");
}

await makeGroup();
await machines();
await scaleSets();
found.noVm = await refused(() => virtualMachines.get(GROUP, "none"));
found.tooLong = await refused(() => virtualMachineScaleSets.createOrUpdate(GROUP, "long", model(1, terminate("PT60M"))));
found.followed = follow.followed > 20;
found.silent = follow.silent;
console.log(JSON.stringify(found));

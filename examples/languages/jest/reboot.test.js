// forewarn run -- npx jest          (or without any package: forewarn run -- node --test)
const assert = require("node:assert");
const run = globalThis.test ?? require("node:test").test;

const ENDPOINT = process.env.FOREWARN_ENDPOINT; // the VM's metadata service
const OPERATOR = process.env.FOREWARN_URL; // brings events about and turns the clock

async function metadata(options = {}) {
  const url = `${ENDPOINT}/metadata/scheduledevents?api-version=2020-07-01`;
  const answer = await fetch(url, { ...options, headers: { Metadata: "true" } });
  assert.strictEqual(answer.status, 200, await answer.clone().text());
  return options.method === "POST" ? null : answer.json();
}

async function operator(path, body) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(OPERATOR + path, body && { method: "POST", headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, await answer.clone().text());
  return answer.json();
}

// Yours goes here: it reads, prepares and approves.
async function myApplication() {
  for (const event of (await metadata()).Events) {
    const body = JSON.stringify({ StartRequests: [{ EventId: event.EventId }] });
    await metadata({ method: "POST", body });
  }
}

run("a restart is approved before its deadline", async () => {
  const { events } = await operator("/v1/vms/restart", { names: ["web-0"] });
  await myApplication();
  await operator("/v1/clock/advance", { seconds: 900 });
  const story = await operator(`/v1/events/${events[0].id}`);
  assert.strictEqual(story.in_time, true);
  assert.strictEqual(story.approved_by, "web-0");
});

// Draws a record of `forewarn sim --record FILE` on an axis of time. The file stays here: nothing of it is sent anywhere.
import { make, one } from "./page.js";

/**
 * @typedef {{text: string, state: string, made: number, due: number, began?: number, ended?: number, gone?: number}} Line
 * @typedef {{lines: Line[], head: {seed: number, vms: number, days: number}, first: number, last: number}} Story
 */

const MOST = 150; // rows at once
const HOUR_MS = 3_600_000;
/** @type {Record<string, "began" | "ended" | "gone">} */
const STEPS = { ImpactBegan: "began", ImpactEnded: "ended", EventCompleted: "gone", EventCanceled: "gone" };

/**
 * @param {string} text
 * @returns {Story}
 */
function read(text) {
  const rows = text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const plan = rows.shift();
  if (plan?.["forewarn-sim"] !== 1) throw new TypeError("another file");
  /** @type {Map<string, Line>} */
  const events = new Map();
  /** @type {Line[]} */
  const faults = [];
  let first = 0, last = 0;
  for (const { t, fact, fault } of rows) {
    const at = fact ? Date.parse(fact.at) : first + t * 1_000;
    first ||= at - t * 1_000;
    last = Math.max(last, at);
    if (fault) faults.push({ text: `${fault.kind}: ${fault.what}`, state: "fault", made: at, due: at + (fault.seconds ?? 0) * 1_000 });
    const event = fact?.event;
    if (event) events.set(event.id, { text: `${event.cause} ${event.vms.join(" ")}`, state: "scheduled", made: at, due: Date.parse(event.not_before) });
    const known = events.get(fact?.event_id);
    if (!known) continue;
    if (fact.fact.startsWith("Event")) known.state = fact.fact.slice(5).toLowerCase();
    const step = STEPS[fact.fact];
    if (step) known[step] = at;
  }
  const lines = [...events.values(), ...faults].sort((a, b) => a.made - b.made);
  return { lines, head: plan.plan, first, last };
}

/** @type {Story | null} */
let story = null;
let from = 0;

/** @param {string} id */
const field = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));
const span = () => Number(field("field-span").value) * HOUR_MS;
const utc = (/** @type {number} */ at) => new Date(at).toISOString().slice(5, 16).replace("T", " ");

/**
 * @param {string} kind
 * @param {Record<string, string>} given
 */
function shape(kind, given) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  return made;
}

/**
 * @param {string} look
 * @param {number} start
 * @param {number} end
 */
function bar(look, start, end) {
  const [x = 0, to = 0] = [start, end].map((at) => Math.min(Math.max(((at - from) / span()) * 100, 0), 100));
  return shape("rect", { class: look, x: `${x}%`, y: "5", width: `${Math.max(to - x, 0.3)}%`, height: "10" });
}

/** @param {Line} line */
function row(line) {
  const { text, state, made, due, began, ended, gone } = line;
  const drawing = shape("svg", { class: "axis", height: "20", "aria-hidden": "true" });
  drawing.append(bar(state === "fault" ? "lapse" : "notice-bar", made, began ?? gone ?? due));
  if (began) drawing.append(bar("impact-bar", began, ended ?? began));
  if (ended) drawing.append(bar("recovery-bar", ended, gone ?? ended));
  const cell = (/** @type {string} */ label, /** @type {string | Node} */ shown) => make("td", { "data-label": label }, shown);
  return make("tr", {}, cell("What", text), make("td", { class: "axis-cell" }, drawing), cell("State", state), cell("From", utc(made)));
}

function draw() {
  const body = one("#record tbody");
  if (!story || !body) return;
  const words = field("field-part").value.toLowerCase();
  const to = from + span();
  const fit = story.lines.filter((line) => line.made < to && Math.max(line.gone ?? line.due, line.made) >= from && line.text.toLowerCase().includes(words));
  body.replaceChildren(...fit.slice(0, MOST).map(row));
  const cut = fit.length > MOST ? `, the first ${MOST} shown` : "";
  const { seed, vms, days } = story.head;
  field("record-told").textContent = `Seed ${seed}, ${vms} VMs, ${days} days. ${utc(from)} to ${utc(to)} UTC: ${fit.length} lines${cut}.`;
}

/** @param {number} steps */
function move(steps) {
  if (!story) return;
  from = Math.min(Math.max(from + steps * span(), story.first), story.last);
  draw();
}

async function opened() {
  const file = field("field-record").files?.[0];
  if (!file) return;
  try {
    story = read(await file.text());
    from = story.first;
  } catch {
    story = null;
  }
  field("record").hidden = !story;
  field("record-error").hidden = !!story;
  draw();
}

field("field-record").addEventListener("change", () => void opened());
for (const name of ["field-span", "field-part"]) field(name).addEventListener("input", draw);
field("record-earlier").addEventListener("click", () => move(-1));
field("record-later").addEventListener("click", () => move(1));

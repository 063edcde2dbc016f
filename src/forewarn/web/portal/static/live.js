// Keeps a page true: on a hint it asks for the parts that name one of its subjects, and lays the answer over them.
import { setClock } from "./clock.js";
import { all, one, say } from "./page.js";
import { listen } from "./stream.js";
import { fragment, lay, workerScript } from "./swap.js";

/** @typedef {import("./stream.js").Hint} Hint */
/** @typedef {import("./stream.js").Contact} Contact */

const APART_MS = 500; // two requests a second, whatever happens
/** @type {Set<string>} */
const stale = new Set();
/** @type {Map<string, string>} the ETag of each set of parts */
const tags = new Map();
let under = false;
let nextAt = 0;
let seq = Number(document.body.dataset.seq);

/** @param {(part: HTMLElement) => boolean} which */
function mark(which) {
  for (const part of all("[data-live][id]")) if (which(part)) stale.add(part.id);
  void refresh();
}

/**
 * The first hint of a stream sums up what the page does not know. Often that is nothing.
 * @param {Hint} hint
 */
function heard(hint) {
  setClock(hint.clock);
  if (hint.portal && hint.portal !== document.body.dataset.digest) {
    return say("forewarn has been updated.", "Reload", location.href);
  }
  if (hint.first && hint.seq <= seq && !hint.more) return;
  const named = new Set(hint.subjects.map((each) => each.toLowerCase()));
  seq = hint.seq;
  mark((part) => {
    const subjects = (part.dataset.live ?? "").toLowerCase().split(" ");
    return hint.more || subjects.includes("*") || subjects.some((each) => named.has(each));
  });
}

async function refresh() {
  if (under || !stale.size || document.hidden) return;
  under = true;
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, nextAt - performance.now())));
  const ids = [...stale].filter((id) => document.getElementById(id)).sort();
  stale.clear();
  nextAt = performance.now() + APART_MS;
  try {
    if (ids.length) await ask(ids);
  } catch {
    ids.forEach((id) => stale.add(id)); // the next hint, or contact that returns, asks again
    nextAt = performance.now() + 4 * APART_MS;
    under = false;
    return;
  }
  under = false;
  void refresh();
}

/** @param {string[]} ids */
async function ask(ids) {
  const names = ids.join(" ");
  const tag = tags.get(names);
  /** @type {Record<string, string>} */
  const headers = { "X-Forewarn-Part": names, ...(tag && { "If-None-Match": tag }) };
  const answer = await fetch(location.href, { headers, cache: "no-store" });
  if (answer.status === 304) return;
  if (answer.redirected) return say("You are signed out.", "Sign in", answer.url);
  if (answer.status === 404) return say("What this page shows is no longer there.", "Reload", location.href);
  if (!answer.ok) throw new Error(`a part answers ${answer.status}`);
  const body = await fragment(answer);
  tags.set(names, answer.headers.get("ETag") ?? "");
  for (const id of ids) {
    const [old, fresh] = [document.getElementById(id), body.querySelector(`#${CSS.escape(id)}`)];
    if (old && fresh) lay(old, fresh);
  }
  document.dispatchEvent(new Event("laid"));
}

/** @type {Contact | ""} */
let known = "";

/** @param {Contact} how */
function contact(how) {
  const place = one("[data-contact]");
  if (!place || how === known) return;
  const again = known === "lost" && how === "live";
  known = how;
  place.hidden = false;
  place.dataset.contact = how === "live" ? "live" : "lost";
  const at = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const words = { live: "live", lost: `no contact since ${at}`, out: "signed out" };
  const word = place.querySelector(".word") ?? place;
  word.textContent = words[how];
  if (again) mark(() => true);
}

/** @type {(() => void) | null} */
let leave = null;

function alone() {
  if (document.hidden) {
    leave?.();
    leave = null;
  } else {
    leave ??= listen(seq, { hint: heard, contact });
  }
}

function together() {
  const { port } = new SharedWorker(workerScript(), { name: document.body.dataset.digest, type: "module" });
  port.onmessage = ({ data }) => {
    if (data.contact) contact(data.contact);
    if (data.hint) heard(data.hint);
    if (data.seq > seq) mark(() => true);
  };
  port.postMessage(seq);
  setInterval(() => port.postMessage("here"), 20_000);
  addEventListener("pagehide", () => port.postMessage("gone"));
  addEventListener("pageshow", (event) => { if (event.persisted) port.postMessage(seq); });
}

export function startLive() {
  if (!document.body.dataset.seq) return;
  if ("SharedWorker" in window) together();
  else alone();
  setInterval(() => mark((part) => part.dataset.again !== undefined), 5_000); // what no record of the journal tells of
  document.addEventListener("visibilitychange", () => {
    if (!("SharedWorker" in window)) alone();
    void refresh();
  });
}

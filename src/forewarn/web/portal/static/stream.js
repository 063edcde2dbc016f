// The stream of hints: which subjects have changed, and the clock. Comes back by itself where it stopped.

/**
 * @typedef {{now: string, speed: number}} Clock
 * @typedef {{seq: number, at: string, clock: Clock, subjects: string[], more: boolean, portal: string, first?: boolean}} Hint
 * @typedef {"live" | "lost" | "out"} Contact
 * @typedef {{hint: (hint: Hint) => void, contact: (how: Contact) => void}} Listener
 */

const ADDRESS = "/v1/changes/stream";
const SILENCE_MS = 40_000; // the server says something every 15 seconds
const WAIT_MS = [250, 1_000, 2_000, 4_000, 8_000];

/**
 * Listen until the answer is called.
 * @param {number} after the journal's number that the page was made from
 * @param {Listener} listener
 * @returns {() => void}
 */
export function listen(after, listener) {
  const ending = new AbortController();
  void run(after, listener, ending.signal);
  return () => ending.abort();
}

/**
 * @param {number} after
 * @param {Listener} listener
 * @param {AbortSignal} ending
 */
async function run(after, listener, ending) {
  let last = String(after);
  let tries = 0;
  while (!ending.aborted) {
    try {
      await once(last, ending, {
        contact: (how) => { tries = 0; listener.contact(how); },
        hint: (hint) => { last = String(hint.seq); listener.hint(hint); },
      });
    } catch (problem) {
      if (ending.aborted) return;
      listener.contact(problem instanceof SignedOut ? "out" : "lost");
    }
    const wait = WAIT_MS[Math.min(tries++, WAIT_MS.length - 1)] ?? 0;
    await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random() / 2)));
  }
}

class SignedOut extends Error {}

/**
 * One connection, to its end.
 * @param {string} last
 * @param {AbortSignal} ending
 * @param {Listener} listener
 */
async function once(last, ending, listener) {
  const silence = new AbortController();
  const signal = AbortSignal.any([ending, silence.signal]);
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const answer = await fetch(ADDRESS, { headers: { Accept: "text/event-stream", "Last-Event-ID": last }, cache: "no-store", signal });
    if (answer.status === 401 || answer.status === 403) throw new SignedOut();
    if (!answer.ok || !answer.body) throw new Error(`the stream answers ${answer.status}`);
    listener.contact("live");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = "", first = true; ; ) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      const whole = (text + value).split(/\r?\n\r?\n/);
      text = whole.pop() ?? "";
      for (const message of whole) {
        const hint = read(message);
        if (!hint) continue;
        listener.hint({ ...hint, first });
        first = false;
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A message without data is a sign of life.
 * @param {string} message
 * @returns {Hint | null}
 */
function read(message) {
  const lines = message.split(/\r?\n/).filter((line) => line.startsWith("data:"));
  return lines.length ? JSON.parse(lines.map((line) => line.slice(5)).join("\n")) : null;
}

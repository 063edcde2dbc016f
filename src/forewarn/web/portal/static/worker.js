// One stream a browser, however many tabs are open: browsers give a server six connections, and a tab would wait for
// ever for the seventh. Named after the digest of all files, so that pages of another version have another worker.
import { listen } from "./stream.js";

/** @typedef {import("./stream.js").Contact} Contact */

/** @type {Map<MessagePort, number>} when each page last said that it is there */
const ports = new Map();
const SILENT_MS = 70_000; // pages say so every 20 seconds; one that was killed says nothing
let seq = 0;
/** @type {Contact | ""} nothing is known before the first answer: "lost" would make each page ask for its parts again */
let contact = "";
/** @type {(() => void) | null} */
let leave = null;

/** @param {unknown} message */
function tell(message) {
  for (const port of ports.keys()) port.postMessage(message);
}

/** @param {number} after */
function begin(after) {
  seq = after;
  leave = listen(after, {
    hint: (hint) => { seq = hint.seq; tell({ hint }); },
    contact: (how) => { contact = how; tell({ contact }); },
  });
}

function end() {
  leave?.();
  leave = null;
  contact = "";
}

/** @param {MessagePort} port */
function part(port) {
  ports.delete(port);
  if (!ports.size) end();
}

/**
 * A page that was made before the last hint has missed some, and is told so by the number.
 * @param {MessagePort} port
 * @param {number} after
 */
function join(port, after) {
  if (!leave) begin(after);
  ports.set(port, performance.now());
  port.postMessage({ seq, contact });
}

const scope = /** @type {{onconnect: (event: MessageEvent) => void}} */ (/** @type {unknown} */ (globalThis));
scope.onconnect = (event) => {
  const port = /** @type {MessagePort} */ (event.ports[0]);
  port.onmessage = ({ data }) => {
    if (data === "here") ports.set(port, performance.now());
    else if (data === "gone") part(port);
    else join(port, Number(data));
  };
};

setInterval(() => {
  for (const [port, heard] of ports) if (performance.now() - heard > SILENT_MS) part(port);
}, 20_000);

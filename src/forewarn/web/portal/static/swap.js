// Lays a fragment of a page over what is there, by element id, so that focus, selection, open menus and what was typed
// stay. The only place that makes HTML from text, and that only of answers of our own pages.

/** @typedef {{createHTML: (text: string) => string, createScriptURL: (text: string) => string}} Policy */

/** @type {Policy} */
const policy = (/** @type {any} */ (window).trustedTypes ?? { createPolicy: (/** @type {string} */ _, /** @type {Policy} */ rules) => rules })
  .createPolicy("forewarn", {
    createHTML: (/** @type {string} */ text) => text,
    createScriptURL: (/** @type {string} */ address) => {
      if (address !== workerAddress()) throw new TypeError("the only script to start is the worker");
      return address;
    },
  });

function workerAddress() {
  return new URL("worker.js", import.meta.url).href;
}

/** The address of the shared worker, as the policy wants it. */
export function workerScript() {
  return policy.createScriptURL(workerAddress());
}

/**
 * The elements of an answer of one of our own pages.
 * @param {Response} answer
 * @returns {Promise<HTMLElement>}
 */
export async function fragment(answer) {
  const from = new URL(answer.url);
  if (from.origin !== location.origin || !from.pathname.startsWith("/portal/")) throw new TypeError("not a page of ours");
  return new DOMParser().parseFromString(policy.createHTML(await answer.text()), "text/html").body;
}

/**
 * Rows that would appear, go or move wait here, by table, until somebody wants to see them.
 * @type {WeakMap<Element, {body: Element, button: HTMLButtonElement}>}
 */
const waiting = new WeakMap();

/**
 * Make `old` like `fresh`, which is used up.
 * @param {Element} old
 * @param {Element} fresh
 */
export function lay(old, fresh) {
  const focused = document.activeElement;
  const id = focused instanceof HTMLElement && old.contains(focused) ? focused.id : "";
  morph(old, fresh);
  if (id && focused && !focused.isConnected) document.getElementById(id)?.focus({ preventScroll: true });
}

/**
 * @param {Element} old
 * @param {Element} fresh
 */
function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeName !== fresh.nodeName) return void old.replaceWith(fresh);
  attributes(old, fresh);
  if (old instanceof HTMLTableSectionElement && old.tagName === "TBODY") rows(old, fresh);
  else children(old, fresh);
}

/**
 * What a person has opened stays open; `data-my-…` is what scripts have marked.
 * @param {Element} old
 * @param {Element} fresh
 */
function attributes(old, fresh) {
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open" && !name.startsWith("data-my-")) old.removeAttribute(name);
  }
}

/**
 * Children with an id are found by it, others by their kind in order.
 * @param {Element} old
 * @param {Element} fresh
 */
function children(old, fresh) {
  const left = [...old.childNodes].filter((node) => !(node instanceof Element && node.hasAttribute("data-my-own")));
  const named = new Map(left.map((node) => [node instanceof Element ? node.id : "", node]));
  /** @type {ChildNode | null} */
  let before = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const key = next instanceof Element ? next.id : "";
    const found = key ? named.get(key) : left.find((node) => node.nodeName === next.nodeName && !(node instanceof Element && node.id));
    while (before instanceof Element && before.hasAttribute("data-my-own")) before = before.nextSibling;
    if (!found) {
      old.insertBefore(next, before);
      continue;
    }
    left.splice(left.indexOf(found), 1);
    if (found === before) before = before.nextSibling;
    else move(old, found, before);
    if (found instanceof Element && next instanceof Element) morph(found, next);
    else if (found.nodeValue !== next.nodeValue) found.nodeValue = next.nodeValue;
  }
  for (const node of left) node.remove();
}

/**
 * Without losing focus, where the browser can.
 * @param {Element} parent
 * @param {Node} node
 * @param {Node | null} before
 */
function move(parent, node, before) {
  const able = /** @type {{moveBefore?: (node: Node, before: Node | null) => void}} */ (/** @type {unknown} */ (parent));
  if (able.moveBefore) able.moveBefore(node, before);
  else parent.insertBefore(node, before);
}

/** @param {Element} body */
const idsOf = (body) => [...body.children].map((row) => row.id);

/**
 * Rows change in place. Those that would appear, go or move wait behind a button, unless the table follows what happens.
 * @param {HTMLTableSectionElement} old
 * @param {Element} fresh
 */
function rows(old, fresh) {
  const table = /** @type {HTMLElement} */ (old.closest("table"));
  const [had, has] = [idsOf(old), idsOf(fresh)];
  if (table.dataset.follow !== undefined || had.includes("") || had.join(" ") === has.join(" ")) {
    forget(table);
    for (const row of old.children) row.removeAttribute("data-my-gone");
    return children(old, fresh);
  }
  for (const row of [...old.children]) {
    const next = [...fresh.children].find((each) => each.id === row.id);
    row.toggleAttribute("data-my-gone", !next);
    if (next) morph(row, /** @type {Element} */ (next.cloneNode(true)));
  }
  tell(table, fresh, has.filter((id) => !had.includes(id)).length, had.filter((id) => !has.includes(id)).length);
}

/** @param {Element} table */
function forget(table) {
  waiting.get(table)?.button.remove();
  waiting.delete(table);
}

/**
 * @param {HTMLElement} table
 * @param {Element} body
 * @param {number} more
 * @param {number} gone
 */
function tell(table, body, more, gone) {
  const button = waiting.get(table)?.button ?? document.createElement("button");
  const told = [more && `${more} new`, gone && `${gone} gone`].filter(Boolean).join(", ") || "in another order";
  button.type = "button";
  button.className = "news";
  button.setAttribute("data-my-own", "");
  button.textContent = `${told}: show`;
  button.onclick = () => {
    const old = table.querySelector("tbody");
    const row = /** @type {HTMLElement | null} */ (table.querySelector("a, input"));
    forget(table);
    for (const each of old?.children ?? []) each.removeAttribute("data-my-gone");
    if (old) children(old, body);
    row?.focus();
    table.dispatchEvent(new Event("rows", { bubbles: true }));
  };
  waiting.set(table, { body, button });
  if (!button.isConnected) table.before(button);
}

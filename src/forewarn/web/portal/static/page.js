// Short words for what every script does with the page.

/**
 * @param {string} selector
 * @param {ParentNode} [within]
 * @returns {HTMLElement[]}
 */
export const all = (selector, within = document) => [...within.querySelectorAll(selector)].filter((each) => each instanceof HTMLElement);

/**
 * @param {string} selector
 * @param {ParentNode | null} [within]
 * @returns {HTMLElement | null}
 */
export const one = (selector, within = document) => /** @type {HTMLElement | null} */ (within?.querySelector(selector) ?? null);

/**
 * A new element. Text that comes from outside goes in as text.
 * @param {string} tag
 * @param {Record<string, string>} given
 * @param {(string | Node)[]} content
 */
export function make(tag, given, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

/** @type {HTMLElement | null} */
let line = null;

/**
 * One line at the edge of the page, for what is not an answer to anything the person did.
 * @param {string} text
 * @param {string} way what to do about it
 * @param {string} href
 */
export function say(text, way, href) {
  line?.remove();
  line = make("div", { class: "toast", role: "status" }, text, make("a", { class: "button small", href }, way));
  document.body.append(line);
}

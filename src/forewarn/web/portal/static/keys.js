// Keys. The single ones can be switched off in the preferences, because they stand in the way of some tools.
import { open } from "./dialog.js";
import { all, make, one } from "./page.js";

/** @type {[string, string][]} */
const TOLD = [
  ["Ctrl K", "Search or command"], ["/", "Filter this page"], ["?", "All keys"], ["j k", "Next row, row before"],
  ["Enter", "Open the row"], ["x", "Select the row"], [".", "Actions"], ["Esc", "Close, or back to where this is listed"],
];

/** `g` and a letter leads to each page of the navigation: its first letter that no other has taken. */
function places() {
  /** @type {Map<string, HTMLElement>} */
  const found = new Map();
  for (const link of all("nav.nav a")) {
    const letter = [...(link.textContent ?? "").toLowerCase()].find((each) => /[a-z]/.test(each) && !found.has(each));
    if (letter) found.set(letter, link);
  }
  return found;
}

async function palette() {
  (await import("./palette.js")).openPalette();
}

function help() {
  const pages = [...places()].map(([letter, link]) => [`g ${letter}`, link.firstChild?.textContent?.trim() ?? ""]);
  const told = [...TOLD, ...pages].flatMap(([keys = "", text = ""]) => [
    make("dt", {}, make("kbd", {}, keys)),
    make("dd", {}, text),
  ]);
  const foot = make("div", { class: "form-foot" }, make("button", { class: "button", "data-close": "" }, "Close"));
  const heading = make("h2", { id: "keys-heading" }, "Keys");
  open("help", make("div", { class: "dialog-body" }, heading, make("dl", { class: "keys" }, ...told), foot))
    .setAttribute("aria-labelledby", heading.id);
}

/** @param {number} step */
function row(step) {
  const rows = all("main table.list tbody tr:has(a)");
  const now = rows.findIndex((each) => each.contains(document.activeElement));
  const next = rows[Math.min(Math.max(now + step, 0), rows.length - 1)];
  one("a", next ?? null)?.focus();
}

function select() {
  one("input[type=checkbox]", document.activeElement?.closest("tr") ?? null)?.click();
}

function filter() {
  const field = /** @type {HTMLInputElement | null} */ (one("main :is([data-filter], input[type=search])"));
  if (!field) return void palette();
  field.focus();
  field.select();
}

function actions() {
  const ofRow = one(".menu summary", document.activeElement?.closest("tr") ?? null);
  (ofRow ?? one(".page-head .actions :is(a, summary, button)"))?.focus();
}

function back() {
  const menu = one("details.menu[open]");
  if (menu) {
    menu.removeAttribute("open");
    one("summary", menu)?.focus();
  } else if (document.activeElement instanceof HTMLElement && document.activeElement.matches("input, textarea, select")) {
    document.activeElement.blur();
  } else {
    all("nav.crumbs a").at(-1)?.click();
  }
}

/** @type {Record<string, () => void>} */
const DOES = { "/": filter, "?": help, j: () => row(1), k: () => row(-1), x: select, ".": actions };
let going = 0;

/** @param {KeyboardEvent} event */
function pressed(event) {
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    return void palette();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || one("dialog[open]")) return;
  if (event.key === "Escape") return back();
  const typing = event.target instanceof Element && event.target.matches("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
  if (typing || document.documentElement.dataset.keys === "off") return;
  const link = event.timeStamp - going < 1_500 ? places().get(event.key) : undefined;
  going = event.key === "g" && !link ? event.timeStamp : 0;
  const does = DOES[event.key];
  if (link) link.click();
  else if (does) does();
  else return;
  event.preventDefault();
}

export function startKeys() {
  document.addEventListener("keydown", pressed);
  for (const [place, does] of /** @type {[string, () => void][]} */ ([["a.search-open", palette], ["[data-help]", help]])) {
    one(place)?.addEventListener("click", (event) => {
      event.preventDefault();
      void does();
    });
  }
}

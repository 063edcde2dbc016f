// Ctrl K: every page, what can be done on this one, and anything by name. Pages and deeds are read from the page itself,
// which is made from the tables of both; names come from the search page. Loaded when it is first wanted.
import { open } from "./dialog.js";
import { all, make, one } from "./page.js";
import { fragment } from "./swap.js";

/** @typedef {{text: string, kind: string, go: () => void}} Choice */

/**
 * @param {string} selector
 * @param {string} kind
 * @returns {Choice[]}
 */
function links(selector, kind) {
  return all(selector).map((link) => ({ text: wordsOf(link), kind, go: () => link.click() }));
}

/** @param {Element} link */
function wordsOf(link) {
  const copy = /** @type {Element} */ (link.cloneNode(true));
  copy.querySelectorAll(".count, svg").forEach((each) => each.remove());
  return (copy.textContent ?? "").replace(/\s+/g, " ").trim();
}

/** @returns {Choice[]} */
function ofThisPage() {
  return [
    ...links(".page-head .actions a", "Do"), ...links("#part-clock .buttons a", "Clock"),
    ...links("nav.nav a", "Go to"), ...links("nav.tabs a", "Tab"),
  ];
}

/**
 * @param {string} words
 * @param {AbortSignal} signal
 * @returns {Promise<Choice[]>}
 */
async function byName(words, signal) {
  const headers = { "X-Forewarn-Part": "part-found" };
  const answer = await fetch(`/portal/search?${new URLSearchParams({ q: words })}`, { headers, signal });
  if (!answer.ok) return [];
  return all("a[href]", await fragment(answer)).map((link) => ({
    text: wordsOf(link),
    kind: link.dataset.kind ?? "",
    go: () => location.assign(link.getAttribute("href") ?? ""),
  }));
}

class Palette {
  /** @type {Choice[]} */
  choices = [];
  here = 0;
  /** @type {AbortController | undefined} */
  asking;

  constructor() {
    this.list = make("ul", { id: "palette-list", role: "listbox", "aria-label": "Found" });
    this.input = /** @type {HTMLInputElement} */ (make("input", {
      type: "search", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", autocomplete: "off",
      "aria-label": "Search or command", placeholder: "A page, an action, or a name", spellcheck: "false",
    }));
    const content = document.createDocumentFragment();
    content.append(this.input, this.list);
    this.dialog = open("palette", content);
    this.dialog.setAttribute("aria-label", "Search or command");
    this.input.addEventListener("input", () => void this.look());
    this.input.addEventListener("keydown", (event) => this.key(event));
    void this.look();
  }

  async look() {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    const words = this.input.value.trim().toLowerCase();
    const fits = (/** @type {Choice} */ { text, kind }) =>
      words.split(" ").every((word) => `${text} ${kind}`.toLowerCase().includes(word));
    const own = ofThisPage().filter(fits);
    this.show(own);
    if (!words) return;
    try {
      await new Promise((resolve) => setTimeout(resolve, 120));
      const found = signal.aborted ? [] : await byName(words, signal);
      if (!signal.aborted) this.show([...own, ...found]);
    } catch (problem) {
      if (!signal.aborted) throw problem;
    }
  }

  /** @param {Choice[]} choices */
  show(choices) {
    this.choices = choices.slice(0, 40);
    this.here = 0;
    this.list.replaceChildren(...this.choices.map((choice, index) => this.row(choice, index)));
    if (!choices.length) {
      this.list.append(make("li", { class: "none", role: "option", "aria-disabled": "true" }, "Nothing by that name."));
    }
    this.mark();
  }

  /**
   * @param {Choice} choice
   * @param {number} index
   */
  row(choice, index) {
    const kind = make("span", { class: "kind" }, choice.kind);
    const row = make("li", { id: `palette-${index}`, role: "option" }, choice.text, kind);
    row.addEventListener("click", () => this.go(choice));
    return row;
  }

  mark() {
    [...this.list.children].forEach((row, index) => row.setAttribute("aria-selected", String(index === this.here)));
    this.input.setAttribute("aria-activedescendant", this.choices.length ? `palette-${this.here}` : "");
    this.list.children[this.here]?.scrollIntoView({ block: "nearest" });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = this.choices[this.here];
    if (step && this.choices.length) this.here = (this.here + step + this.choices.length) % this.choices.length;
    else if (event.key === "Enter" && chosen) this.go(chosen);
    else return;
    event.preventDefault();
    this.mark();
  }

  /** @param {Choice} choice */
  go(choice) {
    this.dialog.close();
    choice.go();
  }
}

export function openPalette() {
  if (!one("dialog[open]")) new Palette();
}

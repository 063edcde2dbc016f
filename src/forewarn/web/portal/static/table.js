// Selecting rows: all at once, ranges with Shift, how many there are, and buttons that wait for the first.
import { all } from "./page.js";

/** @param {Element} form */
function boxesOf(form) {
  return /** @type {HTMLInputElement[]} */ (all("tbody input[type=checkbox]", form));
}

/** @param {Element} form */
function count(form) {
  const boxes = boxesOf(form);
  const chosen = boxes.filter((box) => box.checked).length;
  for (const place of all("[data-selected]", form)) place.textContent = chosen ? `${chosen} selected` : "Nothing selected";
  for (const button of all(".bulk button", form)) button.toggleAttribute("disabled", !chosen);
  for (const box of /** @type {HTMLInputElement[]} */ (all("input[data-all]", form))) {
    box.checked = chosen > 0 && chosen === boxes.length;
    box.indeterminate = chosen > 0 && chosen < boxes.length;
  }
}

/** @type {WeakMap<Element, HTMLInputElement>} the box that was clicked last */
const last = new WeakMap();

/**
 * @param {Element} form
 * @param {HTMLInputElement} box
 * @param {boolean} range
 */
function clicked(form, box, range) {
  if (box.dataset.all !== undefined) {
    for (const each of boxesOf(form)) each.checked = box.checked;
  } else {
    const boxes = boxesOf(form);
    const from = last.get(form);
    if (range && from?.isConnected) {
      const [low, high] = [boxes.indexOf(from), boxes.indexOf(box)].sort((a, b) => a - b);
      for (const each of boxes.slice(low, (high ?? 0) + 1)) each.checked = box.checked;
    }
    last.set(form, box);
  }
  count(form);
}

function countAll() {
  for (const form of all("form:has(.bulk)")) count(form);
}

export function startTables() {
  document.addEventListener("click", (event) => {
    const box = event.target;
    const form = box instanceof HTMLInputElement && box.type === "checkbox" && box.closest("form:has(.bulk)");
    if (form) clicked(form, /** @type {HTMLInputElement} */ (box), event.shiftKey);
  });
  for (const name of ["laid", "rows", "change"]) document.addEventListener(name, countAll);
  addEventListener("pageshow", countAll); // a browser that goes back remembers what was checked
}

// Makes the pages live and quick to use. Everything works without it. What is too small for a file of its own is here:
// copy buttons, menus that close when one looks elsewhere, notices that can be put away.
import { startClock } from "./clock.js";
import { startDialogs } from "./dialog.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { all, make } from "./page.js";
import { startTables } from "./table.js";

/** @param {Element} button */
function textFor(button) {
  const named = button.getAttribute("data-copy");
  const place = named ? document.getElementById(named) : button.closest(".copied, .door")?.querySelector("pre, code");
  return place?.textContent ?? "";
}

/** @param {string} text */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const place = /** @type {HTMLTextAreaElement} */ (make("textarea", {}, text)); // plain http from elsewhere has no clipboard
  document.body.append(place);
  place.select();
  const done = document.execCommand("copy");
  place.remove();
  if (!done) throw new Error("the browser does not copy");
}

/** @param {HTMLElement} button */
async function pressed(button) {
  const word = (button.dataset.word ??= button.textContent ?? "");
  let told = "Copied";
  try {
    await copy(textFor(button));
  } catch {
    told = "Select it, then Ctrl C";
  }
  button.textContent = told;
  setTimeout(() => { button.textContent = word; }, 2_000);
}

/** @param {Element | null} except */
function closeMenus(except) {
  for (const menu of all("details.menu[open]")) if (!except || !menu.contains(except)) menu.removeAttribute("open");
}

function startSmallThings() {
  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const button = target?.closest(".copy");
    if (button instanceof HTMLElement) void pressed(button);
    if (target?.closest("[data-dismiss]")) {
      event.preventDefault();
      target.closest(".notice")?.remove();
    }
    closeMenus(target);
  });
  document.addEventListener("focusin", (event) => closeMenus(event.target instanceof Element ? event.target : null));
}

document.documentElement.classList.add("scripted");
startClock();
startSmallThings();
startDialogs();
startTables();
startKeys();
startLive();

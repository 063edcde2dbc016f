// Opens a page of confirmation over the page that leads to it. Its form is sent as ever, by going there.
import { make, one } from "./page.js";
import { fragment } from "./swap.js";

/**
 * A dialog with a button to close it. It is gone when it is closed, and the focus is where it was.
 * @param {string} name of its kind, for the sheet
 * @param {Node} content
 */
export function open(name, content) {
  const dialog = /** @type {HTMLDialogElement} */ (make("dialog", { class: name, "data-my-own": "" }, content));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    const asked = event.target === dialog || (event.target instanceof Element && event.target.closest("[data-close]"));
    if (asked) {
      event.preventDefault();
      dialog.close();
    }
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** @param {string} address */
async function confirmation(address) {
  const answer = await fetch(address, { headers: { "X-Forewarn-Part": "confirm" }, cache: "no-store" });
  if (answer.redirected) return void location.assign(address);
  const found = (await fragment(answer)).querySelector("#confirm");
  if (!found) return void location.assign(address);
  one("dialog.confirmation")?.remove();
  const heading = one("h2", found);
  if (heading) heading.id ||= "confirm-heading";
  open("confirmation", make("div", { class: "dialog-body" }, found)).setAttribute("aria-labelledby", heading?.id ?? "");
  one("[autofocus], [aria-invalid=true], input:not([type=hidden]), select, textarea, button", found)?.focus();
}

/** @param {string} address */
function show(address) {
  confirmation(address).catch(() => location.assign(address));
}

/** @param {MouseEvent} event */
function clicked(event) {
  const link = event.target instanceof Element ? event.target.closest("a[data-dialog]") : null;
  const plain = !(event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!(link instanceof HTMLAnchorElement) || !plain) return;
  event.preventDefault();
  link.closest("details")?.removeAttribute("open");
  show(link.href);
}

/**
 * A selection in a table, or a confirmation that is to be looked at again: what is filled in becomes the address.
 * @param {SubmitEvent} event
 */
function submitted(event) {
  const { submitter, target } = event;
  if (!(submitter instanceof HTMLButtonElement)) return;
  if (submitter.dataset.dialog === undefined && !(submitter.closest("dialog") && submitter.formMethod === "get")) return;
  const form = /** @type {HTMLFormElement} */ (target);
  event.preventDefault();
  const address = new URL(submitter.formAction, location.href);
  for (const [name, value] of new FormData(form, submitter)) address.searchParams.append(name, String(value));
  show(address.href);
}

export function startDialogs() {
  document.addEventListener("click", clicked);
  document.addEventListener("submit", submitted);
}

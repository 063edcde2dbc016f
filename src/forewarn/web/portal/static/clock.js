// Ticks what the page shows of time, at the speed of the region's clock, between the hints that set it right.
import { all } from "./page.js";

/** @typedef {import("./stream.js").Clock} Clock */

const { now: madeAt = "", speed: madeSpeed = "1" } = document.body.dataset;
let base = Date.parse(madeAt);
let at = performance.now();
let speed = Number(madeSpeed);
/** @type {ReturnType<typeof setInterval> | undefined} */
let timer;

/** The region's time, in milliseconds. */
export function regionNow() {
  return base + (performance.now() - at) * speed;
}

/** @param {Clock} clock */
export function setClock(clock) {
  base = Date.parse(clock.now);
  at = performance.now();
  speed = clock.speed;
  document.body.dataset.speed = String(speed);
  run();
}

const two = (/** @type {number} */ value) => String(value).padStart(2, "0");

/**
 * As the server writes it: 11:19, 1:05:00, 2 d 4 h.
 * @param {number} seconds
 */
export function span(seconds) {
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600) % 24, Math.floor(seconds / 60) % 60];
  if (days) return `${days} d ${hours} h`;
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/**
 * @param {number} when
 * @param {number} now
 */
export function relative(when, now) {
  const seconds = Math.round((when - now) / 1_000);
  return seconds >= 0 ? `in ${span(seconds)}` : `${span(-seconds)} ago`;
}

/**
 * @param {number} when
 * @param {number} now
 */
function local(when, now) {
  const [day, time] = [new Date(when).toLocaleDateString("sv"), new Date(when).toLocaleTimeString("sv")];
  return day === new Date(now).toLocaleDateString("sv") ? time : `${day} ${time}`;
}

/**
 * Only what differs is written: a text that is selected stays selected.
 * @param {Element} place
 * @param {string} text
 */
function write(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

/** @param {Element} place */
const instant = (place) => Date.parse(place.getAttribute("datetime") ?? "");

function tick() {
  if (document.hidden) return;
  const now = regionNow();
  for (const place of all("[data-clock]")) {
    place.setAttribute("datetime", new Date(now).toISOString());
    write(place, `${new Date(now).toISOString().slice(11, 19)} UTC`);
  }
  for (const place of all("[data-here]")) {
    place.removeAttribute("hidden");
    write(place, `${new Date(now).toLocaleTimeString("sv", { hour: "2-digit", minute: "2-digit" })} here`);
  }
  for (const place of all("[data-countdown]")) write(place, relative(instant(place), now));
  const zone = document.documentElement.dataset.zone;
  if (zone !== "local" && zone !== "relative") return;
  for (const place of all("[data-when]")) {
    if (!place.hasAttribute("title")) place.setAttribute("title", `${place.textContent}`);
    write(place, zone === "local" ? local(instant(place), now) : relative(instant(place), now));
  }
}

function run() {
  clearInterval(timer);
  tick();
  if (speed) timer = setInterval(tick, speed > 1 ? 250 : 1_000);
}

export function startClock() {
  if (!Number.isFinite(base)) return;
  run();
  document.addEventListener("visibilitychange", tick);
  document.addEventListener("laid", tick);
}

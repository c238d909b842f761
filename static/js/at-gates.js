// What one person can say at the gates of a run stands beside what everybody is shown: it is asked for when a gate opens
// or changes, and what is being typed is never taken away.
import { $, $$ } from "./page.js";
import { unlessPressed } from "./press.js";

const SOON = 50; // ms: a push replaces many parts
const AGAIN = 5000; // where the site did not answer
const LONGEST = 20_000;

const isTyped = (part) => $$("textarea", part).some((field) => field.value !== field.defaultValue);
const placeOf = (shown) => document.getElementById(`at-${shown.dataset.place}`);
const partOf = (gate, place) => $(`#gate-${gate}`, place);
const namesOf = (part) => $$("details[open] > summary", part).map((one) => one.textContent);
const coming = new Set(); // gates that are on their way: a push in between brings none of them twice
const brought = new Map(); // by gate, the mark for which it came last: what came may be newer than what was pushed
let lookIn = () => {};

async function bring(gate, mark, place) {
  const before = partOf(gate, place);
  if (coming.has(gate) || (before && brought.get(gate) === mark)) return;
  coming.add(gate);
  const html = await ask(gate);
  await new Promise((goOn) => unlessPressed(`gate ${gate}`, goOn)); // nobody decides about a text that has just come
  coming.delete(gate);
  if (html === undefined) return lookIn(AGAIN);
  if (partOf(gate, place) !== before) return lookIn(SOON); // decided meanwhile: what was asked for is older
  if (html && put(gate, html, before, place)) brought.set(gate, mark);
}

// undefined where the site does not answer, nothing where it shows nothing to this person
async function ask(gate) {
  try {
    // not by htmx.ajax: of many that are asked for at once it forgets some, and says of them that they have come
    const asked = { headers: { "HX-Request": "true" }, cache: "no-store", signal: AbortSignal.timeout(LONGEST) };
    const answer = await fetch(`/gates/${gate}/here/`, asked);
    if (answer.status >= 500 || answer.status === 429) return undefined;
    return answer.ok && !answer.redirected ? await answer.text() : "";
  } catch {
    return undefined;
  }
}

// whether it stands there now: unless something has been typed into what is there
function put(gate, html, before, place) {
  if (before && isTyped(before)) return warn(before);
  const unfolded = before ? namesOf(before) : [];
  htmx.swap(before ?? place, html, { swapStyle: before ? "outerHTML" : "beforeend", swapDelay: 0, settleDelay: 20 });
  for (const summary of $$(`#gate-${gate} details > summary`, place)) {
    if (unfolded.includes(summary.textContent)) summary.parentElement.open = true;
  }
  return true;
}

function warn(part) {
  const line = $("[data-changed]", part);
  if (line) line.hidden = false;
}

// whoever decided goes on from the heading of the place
function leave(part, nearest) {
  if (part.contains(document.activeElement)) nearest(part)?.focus({ preventScroll: true });
  part.remove();
}

function tend(shown, nearest) {
  const place = placeOf(shown);
  if (!place) return;
  const marks = new Map($$("[data-gate]", shown).map((one) => [one.dataset.gate, one.dataset.mark]));
  for (const part of $$(".at", place)) {
    const mark = marks.get(part.dataset.gate);
    marks.delete(part.dataset.gate);
    if (mark === part.dataset.mark) continue;
    if (isTyped(part)) warn(part);
    else if (mark) bring(part.dataset.gate, mark, place);
    else leave(part, nearest);
  }
  for (const [gate, mark] of marks) bring(gate, mark, place);
}

// what was refused brings the form again, with why
export function showRefused({ detail }) {
  if (detail.xhr.status < 400 || !/^\s*(<form|<section|\{#)/.test(detail.serverResponse)) return;
  detail.shouldSwap = true;
  detail.isError = false;
}

// `root`: of the page; `nearest`: the heading beside a gate
export function tendGates(root, nearest) {
  let due;
  const look = () => $$("[data-place]", root).forEach((shown) => tend(shown, nearest));
  lookIn = (pause) => {
    clearTimeout(due);
    due = setTimeout(() => unlessPressed("gates", look), pause);
  };
  new MutationObserver(() => lookIn(SOON)).observe(root, { childList: true, subtree: true });
  root.addEventListener("htmx:beforeSwap", showRefused);
}

// What one person can say at the gates of a run stands beside what everybody is shown: it is asked for when a gate opens
// or changes, and what is being typed is never taken away.
import { $, $$ } from "./page.js";

const isTyped = (part) => $$("textarea", part).some((field) => field.value !== field.defaultValue);
const placeOf = (shown) => document.getElementById(`at-${shown.dataset.place}`);
const namesOf = (part) => $$("details[open] > summary", part).map((one) => one.textContent);
const coming = new Set(); // gates that are on their way: a push in between brings none of them twice

async function bring(gate, place, before) {
  if (coming.has(gate)) return;
  coming.add(gate);
  const unfolded = before ? namesOf(before) : [];
  try {
    await htmx.ajax("GET", `/gates/${gate}/here/`, { target: before ?? place, swap: before ? "outerHTML" : "beforeend" });
  } finally {
    coming.delete(gate);
  }
  for (const summary of $$(`#gate-${gate} details > summary`)) {
    if (unfolded.includes(summary.textContent)) summary.parentElement.open = true;
  }
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
    else if (mark) bring(part.dataset.gate, place, part);
    else leave(part, nearest);
  }
  for (const gate of marks.keys()) bring(gate, place);
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
  new MutationObserver(() => {
    clearTimeout(due);
    due = setTimeout(() => $$("[data-place]", root).forEach((shown) => tend(shown, nearest)), 50); // a push replaces many parts
  }).observe(root, { childList: true, subtree: true });
  root.addEventListener("htmx:beforeSwap", showRefused);
}

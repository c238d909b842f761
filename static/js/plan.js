// What one person can say at the gates of a plan stands beside what everybody is shown: it is asked for when a gate
// opens or changes, and what is being typed is never taken away.
import { $, $$ } from "./page.js";

const plan = $("#plan");
const isTyped = (part) => $$("textarea", part).some((field) => field.value !== field.defaultValue);
const placeOf = (shown) => document.getElementById(`at-${shown.dataset.place}`);

const coming = new Set(); // gates that are on their way: a push in between brings none of them twice
const namesOf = (part) => $$("details[open] > summary", part).map((one) => one.textContent);

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

function tend(shown) {
  const place = placeOf(shown);
  if (!place) return;
  const marks = new Map($$("[data-gate]", shown).map((one) => [one.dataset.gate, one.dataset.mark]));
  for (const part of $$(".at", place)) {
    const mark = marks.get(part.dataset.gate);
    marks.delete(part.dataset.gate);
    if (mark === part.dataset.mark) continue;
    if (isTyped(part)) warn(part);
    else if (mark) bring(part.dataset.gate, place, part);
    else leave(part);
  }
  for (const gate of marks.keys()) bring(gate, place);
}

// whoever decided goes on from the heading of the step
function leave(part) {
  const step = part.closest(".step");
  if (part.contains(document.activeElement) && step) $("h3", step)?.focus({ preventScroll: true });
  part.remove();
}

let due;
const all = () => $$("[data-place]", plan).forEach(tend);
new MutationObserver(() => {
  clearTimeout(due);
  due = setTimeout(all, 50); // a push replaces many parts
}).observe(plan, { childList: true, subtree: true });

plan.addEventListener("click", (event) => {
  const link = event.target.closest("[data-edit], [data-leave]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (link.matches("[data-leave]")) return link.closest(".step__edit").replaceChildren();
  const place = document.getElementById(`edit-${link.dataset.edit}`);
  if (!place.firstElementChild) htmx.ajax("GET", link.href, { target: place, swap: "innerHTML" });
});

// what was refused brings the form again, with why
plan.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.xhr.status < 400 || !/^\s*(<form|<section|\{#)/.test(detail.serverResponse)) return;
  detail.shouldSwap = true;
  detail.isError = false;
});

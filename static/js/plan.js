// The live page of a plan: its gates, and the form that changes a step.
import { tendGates } from "./at-gates.js";
import { $, $$ } from "./page.js";

const plan = $("#plan");

tendGates(plan, (part) => part.closest(".step") && $("h3", part.closest(".step")));

plan.addEventListener("click", (event) => {
  const link = event.target.closest("[data-edit], [data-leave]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (link.matches("[data-leave]")) return link.closest(".step__edit").replaceChildren();
  const place = document.getElementById(`edit-${link.dataset.edit}`);
  if (!place.firstElementChild) htmx.ajax("GET", link.href, { source: place, target: place, swap: "innerHTML" });
});

// who hears what is said changes with the steps, while somebody may be typing: whom they have chosen stays chosen
const PLANNER = "To the planner: plan again";

function hear() {
  const form = $("#words");
  const told = $("#hearers");
  if (!form || !told) return;
  const to = $("select", form);
  const isTyped = $("textarea", form).value.trim();
  const chosen = to.selectedOptions[0];
  const known = $$("[data-to]", told).map((one) => [one.dataset.to, one.textContent]);
  if (told.hasAttribute("data-planner")) known.unshift(["", PLANNER]);
  form.hidden = !known.length && !isTyped;
  if (isTyped && chosen && !known.some(([value]) => value === chosen.value)) known.push([chosen.value, chosen.text]);
  const words = (options) => JSON.stringify(options);
  if (words(known) === words([...to.options].map((one) => [one.value, one.text]))) return;
  to.replaceChildren(...known.map(([value, text]) => new Option(text, value, false, value === chosen?.value)));
}

// that a step was changed is said until something else becomes of it
function forget(note) {
  const step = document.getElementById(note.parentElement.id.replace("edit", "place"));
  if (step?.dataset.number !== note.dataset.step || !["wait", "asks"].includes(step.dataset.state)) note.remove();
}

new MutationObserver(() => {
  hear();
  $$(".step__edit > [data-step]", plan).forEach(forget);
}).observe(plan, { childList: true, subtree: true });

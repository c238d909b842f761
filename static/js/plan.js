// The live page of a plan: its gates, and the form that changes a step.
import { tendGates } from "./at-gates.js";
import { $ } from "./page.js";

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

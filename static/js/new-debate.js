// The page on which a debate is begun. All of it works without this, by one button more.
import { offerUndo } from "./undo.js";

const form = document.querySelector("form.newd");

// a file is read as soon as it is chosen, so that it is seen as the members will see it
form.addEventListener("change", ({ target }) => {
  if (target.name === "documents" && target.files.length) form.requestSubmit(document.getElementById("attach"));
});

// what a panel holds has come: it may cost something else
document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target?.id === "options") document.body.dispatchEvent(new Event("panel-taken"));
});

// ---- an example fills the page and starts nothing; what was typed can be had back for a while ----

const PARTS = ["title", "question", "options", "members", "rules", "came-from"];
const announcer = document.getElementById("announcer");
let replaced; // the parts of the page with what was typed in them, and the panel, as long as they can be had back
let example = []; // title and question of the one that came last

const parts = () => PARTS.map((id) => document.getElementById(id));
const atFirst = (options) => Math.max(0, [...options].findIndex((option) => option.defaultSelected));
const isChanged = (field) => {
  if (field.options) return field.selectedIndex !== atFirst(field.options);
  return field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
};
const texts = () => [form.elements.title.value, form.elements.question.value];
const isTyped = () =>
  texts().some((text) => text.trim() && !example.includes(text)) ||
  [...form.querySelectorAll(":is(#options, #members, #rules) :is(input, select, textarea)")].some(isChanged);

const isExample = (link) => link.matches?.("#try a");
document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!detail.shouldSwap || !isExample(detail.requestConfig.elt)) return;
  if (isTyped()) replaced = { before: parts(), panel: form.elements.panel.value };
});
document.body.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (!isExample(detail.requestConfig.elt) || detail.elt.id !== "options") return;
  example = texts();
  tellOfChange("");
  if (replaced) offerUndo(bringBack, () => (replaced = undefined));
  announcer.textContent = "The example is filled in. Nothing has been started.";
});

function tellOfChange(panel) {
  for (const choice of form.elements.panel) choice.checked = choice.value === panel;
  form.elements.question.dispatchEvent(new Event("input", { bubbles: true }));
}

function bringBack() {
  parts().forEach((part, place) => part.replaceWith(replaced.before[place]));
  example = [];
  tellOfChange(replaced.panel);
  form.elements.question.focus();
}

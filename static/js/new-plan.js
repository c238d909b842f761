// The page on which a plan is begun. All of it works without this, by one button more.
import { offerUndo } from "./undo.js";

const form = document.getElementById("start");
const announcer = document.getElementById("announcer");
const PARTS = ["task", "teams", "asks"];
let replaced; // the parts of the page with what was typed and chosen in them, as long as they can be had back
let example = ""; // the task that came last

const parts = () => PARTS.map((id) => document.getElementById(id));
const isTyped = () => form.elements.task.value.trim() && form.elements.task.value !== example;
const tellOfChange = () => form.elements.task.dispatchEvent(new Event("input", { bubbles: true }));

function bringBack() {
  parts().forEach((part, place) => part.replaceWith(replaced[place]));
  example = "";
  tellOfChange();
  form.elements.task.focus();
}

function tellOfExample() {
  example = form.elements.task.value;
  tellOfChange();
  if (replaced) offerUndo(bringBack, () => (replaced = undefined));
  announcer.textContent = "The task is filled in. Nothing has been started.";
}

const isExample = (link) => link.matches?.("[data-fills]");
document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.shouldSwap && isExample(detail.requestConfig.elt) && isTyped()) replaced = parts();
});
document.body.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (isExample(detail.requestConfig.elt) && detail.elt.id === "teams") tellOfExample();
});

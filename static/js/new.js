// The input page: what was written on it is still there when somebody comes back to it or loads it again.
import { offerUndo } from "./undo.js";

const form = document.querySelector("form.new");
const trouble = document.getElementById("trouble");
const announcer = document.getElementById("announcer");

// ---- kept with the page's place in the tab's history, as browsers do for most fields, but not for all of these ----

const fields = () => [...form.elements].filter((field) => field.name && field.matches(":not([type=hidden], button)"));
const isChoice = (field) => field.type === "radio";
const choices = () => fields().filter(isChoice);
const keptFor = () => document.getElementById("kept-for");
const naming = document.getElementById("naming");
const change = document.getElementById("change");

// also after an answer to a form: coming back asks for the page, and sends nothing again
const again = form.elements.again?.value;
const address = again ? `${form.action}?again=${again}` : form.action;

function writtenNow() {
  const texts = fields().filter((field) => !isChoice(field)).map((field) => [field.name, field.value]);
  const council = choices().find((choice) => choice.checked)?.value ?? "";
  const version = form.elements.version?.value;
  return { texts, council, version, keptFor: keptFor().textContent, changing: change.open };
}

function keep() {
  history.replaceState({ ...history.state, written: writtenNow() }, "", address);
}

// the version that the agents came from; their page may have been made from another one since
function bringBackVersion(version) {
  form.elements.version?.remove();
  if (!version) return;
  const field = Object.assign(document.createElement("input"), { type: "hidden", name: "version", value: version });
  document.getElementById("agents").prepend(field);
}

function choose(council) {
  // one that is not offered any more is nobody's choice: its agents are then one's own
  const offered = choices().some((choice) => choice.value === council);
  for (const choice of choices()) choice.checked = choice.value === (offered ? council : "");
}

function bringBack({ texts, council, version, keptFor: sentence, changing }) {
  choose(council);
  bringBackVersion(version);
  for (const [name, value] of texts) {
    const field = form.elements[name];
    if (field) field.value = value;
    if (value) field?.closest("details")?.setAttribute("open", "");
    if (value && name === "title") naming.open = true;
  }
  if (sentence) keptFor().textContent = sentence;
  if (changing) change.open = true;
  tellOfChange();
}

function tellOfChange() {
  for (const field of fields()) field.dispatchEvent(new Event("input", { bubbles: true }));
}

let keeping;
form.addEventListener("input", () => {
  clearTimeout(keeping);
  keeping = setTimeout(keep, 300); // what loads the page again takes the state from before it is hidden
});
addEventListener("pagehide", keep);
// a link to the same address keeps the state, but who follows it wants an empty page
const isNew = performance.getEntriesByType("navigation")[0]?.type === "navigate";
addEventListener("pageshow", (event) => {
  if (!event.persisted && !isNew && history.state?.written) bringBack(history.state.written);
});

// ---- the three agents in short, as they are written in full ----

const AGENT = /^a[123]-/;
const NOT_YET = { name: "No name yet", model: "", criteria: "No criteria yet" };

function showInShort({ name, value }) {
  const short = document.querySelector(`[data-short="${name}"]`);
  if (short) short.textContent = value.trim().split("\n")[0] || NOT_YET[name.slice(3)];
}

// what came from the server stands there already, with all its characters to be seen
form.addEventListener("input", ({ target, isTrusted }) => {
  if (AGENT.test(target.name) && (isTrusted || target.value !== target.defaultValue)) showInShort(target);
});
// what has still to be written is shown
document.body.addEventListener("agents-changed", () => {
  if (!form.elements["a1-name"].value) change.open = true;
});

// ---- an example fills the page and starts nothing; what was typed can be had back for a while ----

let replaced; // what was typed, as long as it can be had back
let example = ""; // the text of the one that came last

const isTyped = () =>
  (form.elements.content.value.trim() && form.elements.content.value !== example) ||
  form.elements.title.value.trim() ||
  fields().some((field) => AGENT.test(field.name) && field.value !== field.defaultValue);

function bringBackReplaced() {
  bringBack(replaced);
  form.elements.content.focus();
}

// it is told before the agents that come with it take their places
document.body.addEventListener("example-came", ({ detail: { content, council } }) => {
  if (isTyped()) replaced = writtenNow();
  if (replaced) offerUndo(bringBackReplaced, () => (replaced = undefined));
  form.elements.content.value = example = content;
  form.elements.title.value = "";
  naming.open = false;
  choose(council);
  announcer.textContent = "The example is filled in. Nothing has been started.";
});
document.body.addEventListener("agents-changed", tellOfChange);

// ---- whoever has been signed out meanwhile is told so, and finds nothing swapped into the page that is not of it ----

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const asked = new URL(detail.pathInfo.requestPath, location.href);
  if (new URL(detail.xhr.responseURL).pathname === asked.pathname) return;
  detail.shouldSwap = false;
  const link = Object.assign(document.createElement("a"), { href: form.action, target: "_blank", textContent: "Sign in" });
  const sentence = document.createElement("p");
  sentence.append("You have been signed out. ", link, " on another page, then load this one again: what you wrote stays.");
  trouble.replaceChildren(sentence);
  announcer.textContent = sentence.textContent;
});

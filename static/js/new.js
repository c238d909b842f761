// The input page: what was written on it is still there when somebody comes back to it or loads it again.
const form = document.querySelector("form.new");
const trouble = document.getElementById("trouble");

// ---- kept with the page's place in the tab's history, as browsers do for most fields, but not for all of these ----

const fields = () => [...form.elements].filter((field) => field.name && field.matches(":not([type=hidden], button)"));
const isChoice = (field) => field.type === "radio";
const choices = () => fields().filter(isChoice);

// also after an answer to a form: coming back asks for the page, and sends nothing again
const again = form.elements.again?.value;
const address = again ? `${form.action}?again=${again}` : form.action;

function keep() {
  const texts = fields().filter((field) => !isChoice(field)).map((field) => [field.name, field.value]);
  const council = choices().find((choice) => choice.checked)?.value ?? "";
  const version = form.elements.version?.value;
  history.replaceState({ ...history.state, written: { texts, council, version } }, "", address);
}

// the version that the agents came from; their page may have been made from another one since
function bringBackVersion(version) {
  form.elements.version?.remove();
  if (!version) return;
  const field = Object.assign(document.createElement("input"), { type: "hidden", name: "version", value: version });
  document.getElementById("agents").prepend(field);
}

function bringBack({ texts, council, version }) {
  // one that is not offered any more is nobody's choice: its agents are then one's own
  const offered = choices().some((choice) => choice.value === council);
  for (const choice of choices()) choice.checked = choice.value === (offered ? council : "");
  bringBackVersion(version);
  for (const [name, value] of texts) {
    const field = form.elements[name];
    if (field) field.value = value;
    if (value) field?.closest("details")?.setAttribute("open", "");
  }
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

// ---- whoever has been signed out meanwhile is told so, and finds nothing swapped into the page that is not of it ----

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (new URL(detail.xhr.responseURL).pathname === detail.pathInfo.requestPath) return;
  detail.shouldSwap = false;
  const link = Object.assign(document.createElement("a"), { href: form.action, target: "_blank", textContent: "Sign in" });
  const sentence = document.createElement("p");
  sentence.append("You have been signed out. ", link, " on another page, then load this one again: what you wrote stays.");
  trouble.replaceChildren(sentence);
  document.getElementById("announcer").textContent = sentence.textContent;
});

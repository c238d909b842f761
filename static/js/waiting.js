// What waits is told as soon as it does: a link to what is new, and, for who wants it, a notice of the browser. A form
// is never touched.
import { listen } from "./bar.js";
import { can, isWanted, notify, want } from "./notices.js";

const $ = (selector, within = document) => within.querySelector(selector);

const page = $("#waiting");
const newer = $("#waiting-newer");
const announcer = $("#announcer");
let known = Number(page.dataset.after);

function showNewer(gates) {
  newer.hidden = !gates.length;
  $("[data-n]", newer).textContent = gates.length;
}

function heard(gates) {
  showNewer(gates);
  const unheard = gates.filter((gate) => gate.id > known);
  if (!unheard.length) return;
  known = unheard.at(-1).id;
  announcer.textContent = unheard.length > 1 ? `${unheard.length} new things wait for you.` : `Waits for you: ${unheard[0].title}`;
  if (isWanted()) unheard.forEach(tell);
}

// ---- notices of the browser: asked for by a click and by nothing else ----

const button = $("#tell");
const state = $("#tell-state");
const SENTENCES = {
  on: "On in this browser, while a page of what waits is open.",
  off: "Off in this browser.",
  denied: "This browser refuses notices from here; its settings can allow them.",
  none: "This browser cannot show notices.",
};

function show() {
  const kind = Notification.permission === "denied" ? "denied" : isWanted() ? "on" : "off";
  state.textContent = SENTENCES[kind];
  button.hidden = kind === "denied";
  button.setAttribute("aria-pressed", kind === "on");
}

function tell(gate) {
  const shown = notify("MAGI: something waits for you", gate.title, `magi-gate-${gate.id}`, gate.address);
  if (!shown) state.textContent = SENTENCES.none;
}

button.addEventListener("click", async () => {
  await want(!isWanted());
  show();
});

if (can) show();
else state.textContent = SENTENCES.none;
listen(page.dataset.after, heard);

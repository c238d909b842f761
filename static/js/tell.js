// Whoever has asked for it is told by their browser what waits for them and that a run of theirs is over, also while they
// look at something else. The switch stands on the page of what waits and on live pages.
import { can, isWanted, notify, want } from "./notices.js";

const button = document.getElementById("tell");
const state = document.getElementById("tell-state");
const SENTENCES = {
  on: "On in this browser, while such a page is open.",
  off: "Off in this browser.",
  denied: "This browser refuses notices from here; its settings can allow them.",
  none: "This browser cannot show notices.",
};

const told = new Set();

function show() {
  const kind = Notification.permission === "denied" ? "denied" : isWanted() ? "on" : "off";
  state.textContent = SENTENCES[kind];
  button.hidden = kind === "denied";
  button.setAttribute("aria-pressed", kind === "on");
}

function tell(title, body, tag, address) {
  if (told.has(tag)) return;
  told.add(tag); // wanted or not: nothing is told late
  if (isWanted() && !notify(title, body, tag, address) && state) state.textContent = SENTENCES.none;
}

export function tellWaits(gates) {
  for (const { id, title, address } of gates) tell("MAGI: something waits for you", title, `magi-gate-${id}`, address);
}

// `seen`: the address of the run that whoever looks sees end
export function tellOver(runs, seen = "") {
  if (seen) told.add(`magi-over-${seen}`);
  for (const { title, word, address } of runs) tell(`MAGI: ${word}`, title, `magi-over-${address}`, address);
}

// an example that anybody may look at has neither
if (button) {
  button.addEventListener("click", async () => {
    await want(!isWanted());
    show();
  });
  if (can) show();
  else state.textContent = SENTENCES.none;
}

// What waits is told as soon as it does: the number in the bar, a link to what is new, and, for who wants it, a notice
// of the browser. A form is never touched.
import { can, isWanted, notify, want } from "./notices.js";

const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

const FINAL = [4404, 4429]; // codes after which the socket stays closed
const page = $("#waiting");
const newer = $("#waiting-newer");
const announcer = $("#announcer");
const title = document.title.replace(/^\(.*?\) /, "");
let known = Number(page.dataset.after);
let failed = 0;

// ---- what came ----

function span(kind, text) {
  const made = document.createElement("span");
  made.className = kind;
  made.textContent = text;
  return made;
}

// as _nav_links.html and _bar.html write it
function showNumber(number) {
  for (const link of $$(`.bar nav a[href="${location.pathname}"]`)) {
    const said = number ? [span("vh", ","), " ", span("nav__n", number), span("vh", " for you")] : [];
    link.replaceChildren("Waiting", ...said);
  }
  const menu = $(".account summary");
  $(".nav__n", menu)?.remove();
  if (number) $(".who", menu).after(span("nav__n narrow", number));
  $(".nav__n", menu)?.setAttribute("aria-hidden", "true");
  document.title = number ? `(${number}) ${title}` : title;
}

function showNewer(gates) {
  newer.hidden = !gates.length;
  $("[data-n]", newer).textContent = gates.length;
}

function heard({ data }) {
  const { number, new: gates } = JSON.parse(data);
  showNumber(number);
  showNewer(gates);
  const unheard = gates.filter((gate) => gate.id > known);
  if (!unheard.length) return;
  known = unheard.at(-1).id;
  announcer.textContent = unheard.length > 1 ? `${unheard.length} new things wait for you.` : `Waits for you: ${unheard[0].title}`;
  if (isWanted()) unheard.forEach(tell);
}

// ---- the socket ----

function listen() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${location.host}/ws/waiting/?after=${page.dataset.after}`);
  socket.addEventListener("open", () => (failed = 0));
  socket.addEventListener("message", heard);
  socket.addEventListener("close", ({ code }) => {
    if (FINAL.includes(code)) return;
    setTimeout(listen, 1000 + Math.random() * Math.min(1000 * 2 ** failed++, 30_000));
  });
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
listen();

// The live page: detail panels, clocks, and the truth about the connection. The rows are rendered by the server.
const OVER = ["approve", "reject", "failed", "stopped"];
const BANNER_AFTER = 2000;
const HOVER_OPENS = 250;
const LEAVING_CLOSES = 300;
const ENDED = {
  // codes after which the socket stays closed
  4404: ["This page is no longer updated.", "You may have been signed out, or may not see this judgement any more."],
  4429: ["This page is not updated.", "You have this judgement open too many times. Close other pages of it first."],
};

const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

// ---- detail panels: dismissable, hoverable (a child of the block), persistent (no time-out) ----

const agents = $$(".agent");
const canHover = matchMedia("(hover: hover)").matches;
const buttonOf = (agent) => $(".agent__more", agent);
const panelOf = (agent) => $(".detail", agent);
const isOpen = (agent) => "open" in agent.dataset;

let pinned = null;
let opening;
let closing;

function fitIntoWindow(panel) {
  panel.style.maxHeight = "";
  const box = panel.getBoundingClientRect();
  const hangs = getComputedStyle(panel).position === "absolute" && box.bottom > innerHeight - 8;
  if (hangs) panel.style.maxHeight = `${Math.max(240, innerHeight - box.top - 8)}px`;
}

function show(agent) {
  for (const other of agents) if (other !== agent) hide(other);
  agent.dataset.open = "";
  buttonOf(agent).setAttribute("aria-expanded", "true");
  fitIntoWindow(panelOf(agent));
}

function hide(agent) {
  if (!isOpen(agent)) return;
  delete agent.dataset.open;
  buttonOf(agent).setAttribute("aria-expanded", "false");
  if (pinned === agent) pinned = null;
}

function pin(agent) {
  show(agent);
  pinned = agent;
  panelOf(agent).focus({ preventScroll: true });
}

function closeAndReturnFocus(agent) {
  const inside = panelOf(agent).contains(document.activeElement);
  clearTimeout(opening);
  if (inside) buttonOf(agent).focus({ preventScroll: true });
  hide(agent); // after the focus, which opens
}

function followMouse(agent) {
  agent.addEventListener("pointerenter", (event) => {
    if (event.pointerType !== "mouse") return;
    clearTimeout(closing);
    if (pinned && pinned !== agent) return;
    opening = setTimeout(() => show(agent), HOVER_OPENS);
  });
  agent.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "mouse") return;
    clearTimeout(opening);
    if (pinned === agent) return;
    closing = setTimeout(() => {
      if (!agent.contains(document.activeElement)) hide(agent);
    }, LEAVING_CLOSES);
  });
}

function neighbour(agent, key) {
  const down = agent.id === "agent-1" ? "agent-2" : null;
  const id = { ArrowUp: "agent-1", ArrowLeft: "agent-2", ArrowRight: "agent-3", ArrowDown: down }[key];
  return id && id !== agent.id ? document.getElementById(id) : null;
}

for (const agent of agents) {
  const button = buttonOf(agent);
  if (canHover) followMouse(agent);
  button.addEventListener("focus", () => {
    if (canHover && button.matches(":focus-visible")) show(agent);
  });
  button.addEventListener("click", () => (pinned === agent ? hide(agent) : pin(agent)));
  button.addEventListener("keydown", (event) => {
    const other = neighbour(agent, event.key);
    if (!other) return;
    event.preventDefault();
    buttonOf(other).focus();
  });
  agent.addEventListener("focusout", (event) => {
    if (pinned !== agent && !agent.contains(event.relatedTarget)) hide(agent);
  });
  $("[data-close]", agent).addEventListener("click", () => closeAndReturnFocus(agent));
}

document.addEventListener("keydown", (event) => {
  const open = agents.find(isOpen);
  if (event.key === "Escape" && open) closeAndReturnFocus(open);
});

document.addEventListener("pointerdown", (event) => {
  const open = agents.find(isOpen);
  if (open && !open.contains(event.target)) hide(open);
});

// ---- reasons longer than their box fade out at the last whole line ----

function markOverflow() {
  for (const text of $$(".entry--now .entry__text:not([data-stream])")) {
    text.toggleAttribute("data-over", text.scrollHeight > text.clientHeight + 4);
  }
}

addEventListener("resize", markOverflow);
document.fonts?.ready.then(markOverflow);
markOverflow();

// ---- clocks: counted here from a moment that the server named ----

function clockText(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

function tick() {
  const now = Date.now();
  for (const clock of $$("[data-since]")) {
    const seconds = (now - Date.parse(clock.dataset.since)) / 1000;
    clock.textContent = clock.dataset.format === "s" ? `${Math.max(0, Math.floor(seconds))} s` : clockText(seconds);
  }
  for (const clock of $$("[data-in]")) {
    const seconds = Math.ceil((Date.parse(clock.dataset.in) - now) / 1000);
    clock.textContent = seconds > 0 ? `in ${seconds} s` : "now";
  }
}

setInterval(tick, 1000);
tick();

// ---- the connection: say so when what is shown may be old ----

const banner = $("#conn-banner");
const announcer = $("#announcer");
let lostTimer;
let justBack = false;
let lastMessage = new Date();

const isOver = () => OVER.includes($("#plate").dataset.state);

function showConnection(kind, word) {
  const mark = $("#conn");
  if (!mark) return;
  mark.dataset.conn = kind;
  mark.textContent = word;
}

function showBanner() {
  const offline = !navigator.onLine;
  const last = lastMessage.toTimeString().slice(0, 8);
  banner.dataset.kind = offline ? "offline" : "reconnecting";
  $("use", banner).setAttribute("href", offline ? "#i-off" : "#i-retry");
  $("strong", banner).textContent = offline ? "You are offline." : "Reconnecting.";
  $("[data-rest]", banner).textContent =
    `The judgement goes on without this page. Last update at ${last}.` + (offline ? " It reconnects by itself." : "");
  $("[data-reload]", banner).hidden = offline;
  banner.hidden = false;
  if (offline) showConnection("offline", "Offline");
  mayCancel(!offline);
  announcer.textContent = offline ? "You are offline." : "Connection lost. Reconnecting.";
}

function showEnd([strong, rest]) {
  clearTimeout(lostTimer);
  banner.dataset.kind = "ended";
  $("use", banner).setAttribute("href", "#i-off");
  $("strong", banner).textContent = strong;
  $("[data-rest]", banner).textContent = rest;
  $("[data-reload]", banner).hidden = false;
  banner.hidden = false;
  showConnection("offline", "Not live");
  announcer.textContent = `${strong} ${rest}`;
}

function lost(code) {
  if (isOver()) return;
  showConnection("reconnecting", "Reconnecting");
  document.body.classList.add("is-stale");
  if (ENDED[code]) return showEnd(ENDED[code]);
  lostTimer ??= setTimeout(showBanner, BANNER_AFTER); // one per loss: each failed retry closes again
}

function back() {
  clearTimeout(lostTimer);
  lostTimer = undefined;
  justBack = !banner.hidden;
  banner.hidden = true;
  document.body.classList.remove("is-stale");
  showConnection("live", "Live");
  mayCancel(true);
}

// Only after the snapshot, which brings its own sentence: said earlier, this one would be overwritten.
function sayBack() {
  justBack = false;
  announcer.textContent = `Connected again. The page is up to date. ${announcer.textContent}`;
}

// ---- the question before cancelling; without it the button leads to a page that asks the same ----

const question = $("#cancel");

document.addEventListener("click", (event) => {
  if (!question || !event.target.closest("[data-cancel]")) return;
  event.preventDefault();
  question.showModal();
});

function mayCancel(may) {
  const button = $("[data-cancel]");
  if (may) button?.removeAttribute("aria-disabled");
  else button?.setAttribute("aria-disabled", "true");
}

// ---- messages: each names the version it brings. An old one must not undo a newer, and what is here is said ----

let version = 0;

const versionOf = (message) => Number(/^<!--(\d+)-->/.exec(message)?.[1] ?? 0);

function acknowledge(socket) {
  socket.sendImmediately(String(version));
}

document.addEventListener("htmx:wsClose", (event) => lost(event.detail.event.code));
document.addEventListener("htmx:wsOpen", () => {
  version = 0; // another process may count from another beginning
  back();
});
document.addEventListener("htmx:wsBeforeMessage", (event) => {
  const { message, socketWrapper } = event.detail;
  if (versionOf(message) > version) return;
  event.preventDefault();
  acknowledge(socketWrapper); // what was said before may have been lost
});
document.addEventListener("htmx:wsAfterMessage", (event) => {
  const { message, socketWrapper } = event.detail;
  version = versionOf(message);
  acknowledge(socketWrapper);
  lastMessage = new Date();
  if (justBack) sayBack();
  markOverflow();
  tick();
});
$("[data-reload]").addEventListener("click", () => location.reload());

// The tab's title follows the plate. An observer, because the last message takes the socket and its events away.
const heading = $("h1").textContent;
new MutationObserver(() => {
  markOverflow();
  if (isOver()) question?.close(); // there is nothing left to cancel
  document.title = `${$("#plate span").textContent}: ${heading} · MAGI`;
}).observe($(".verdict"), { childList: true, subtree: true });

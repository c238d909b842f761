// The triangle with its panels and clocks, as the live page and the replay show it. The rows are rendered by the server.
export const $ = (selector, within = document) => within.querySelector(selector);
export const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

const HOVER_OPENS = 250;
const LEAVING_CLOSES = 300;

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
  if (getComputedStyle(panel).position === "fixed") return bringPlateAbove(panel);
  const box = panel.getBoundingClientRect();
  if (box.bottom > innerHeight - 8) panel.style.maxHeight = `${Math.max(240, innerHeight - box.top - 8)}px`;
}

// The sheet of a phone covers most of the page, but never the plate: the page moves, and back when the sheet closes.
let scrolledFrom, scrolledTo;

function bringPlateAbove(sheet) {
  const plate = $("#plate").getBoundingClientRect();
  const bar = $(".bar").getBoundingClientRect().bottom;
  if (plate.top < bar || plate.bottom > sheet.getBoundingClientRect().top) {
    scrolledFrom ??= scrollY;
    scrollBy({ top: plate.top - bar - 12, behavior: "instant" });
    scrolledTo = scrollY;
  }
  const room = innerHeight - $("#plate").getBoundingClientRect().bottom - 8;
  if (room < 0.78 * innerHeight) sheet.style.maxHeight = `${Math.max(240, room)}px`;
}

function scrollBack() {
  if (scrolledFrom !== undefined && scrollY === scrolledTo) scrollTo({ top: scrolledFrom, behavior: "instant" });
  scrolledFrom = undefined;
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
  scrollBack();
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
  if (open && !open.contains(event.target) && !event.target.closest(".player")) hide(open);
});

// ---- reasons longer than their box fade out at the last whole line ----

export function markOverflow() {
  for (const text of $$(".entry--now .entry__text:not([data-stream])")) {
    text.toggleAttribute("data-over", text.scrollHeight > text.clientHeight + 4);
  }
}

addEventListener("resize", markOverflow);
document.fonts?.ready.then(markOverflow);
markOverflow();

// ---- clocks: counted here from a moment that the server named ----

let now = Date.now;

// What time it is, where that is not the time of day.
export function setClock(moment) {
  now = moment;
  tick();
}

export function clockText(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (number) => String(number % 60).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60)];
  return hours ? `${hours}:${two(minutes)}:${two(whole)}` : `${minutes}:${two(whole)}`;
}

export function tick() {
  for (const clock of $$("[data-since]")) {
    const seconds = (now() - Date.parse(clock.dataset.since)) / 1000;
    clock.textContent = clock.dataset.format === "s" ? `${Math.max(0, Math.floor(seconds))} s` : clockText(seconds);
  }
  for (const clock of $$("[data-in]")) {
    const seconds = Math.ceil((Date.parse(clock.dataset.in) - now()) / 1000);
    clock.textContent = seconds > 0 ? `in ${seconds} s` : "now";
  }
}

setInterval(tick, 1000);
tick();

// The reviewers' desk: moving through the list with keys, and the record beside it without leaving the page.
const REST = 200; // ms without a key before the record follows
const KEYS = "review-keys";

const list = document.getElementById("rvs");
const announcer = document.getElementById("announcer");
const trouble = document.getElementById("trouble");
const wide = matchMedia("(min-width: 980px)"); // below, a record is a page of its own
const links = () => [...(list?.querySelectorAll(".rv__t a") ?? [])];
const one = () => document.getElementById("one");

let keysOn = remembered() !== "off";
let resting;
let asking;

function remembered() {
  try {
    return localStorage.getItem(KEYS);
  } catch {
    return null; // storage may be forbidden; then the choice holds for this page
  }
}

// ---- one record in place of the other ----

async function show(link, { focus = false, said = false } = {}) {
  clearTimeout(resting);
  asking?.abort();
  asking = new AbortController();
  mark(link);
  if (said) announcer.textContent = `${links().indexOf(link) + 1} of ${links().length}: ${link.dataset.said}`;
  try {
    const answer = await fetch(link.href, { headers: { "HX-Request": "true" }, signal: asking.signal });
    if (answer.redirected || !answer.ok) throw new Error(`no record: ${answer.status}`);
    htmx.swap("#one", await answer.text(), { swapStyle: "outerHTML" });
  } catch (error) {
    if (error.name !== "AbortError") sayTrouble(link);
    return;
  }
  trouble.replaceChildren();
  history.replaceState(history.state, "", link.href);
  if (focus) one().focus({ preventScroll: true });
}

function sayTrouble(link) {
  const whole = Object.assign(document.createElement("a"), { href: link.href, textContent: "Open it as a page" });
  trouble.replaceChildren("The record could not be fetched. What is beside the list is the one before.", whole);
  announcer.textContent = trouble.firstChild.data;
}

function mark(link) {
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  link.closest("li").setAttribute("aria-current", "true");
}

const current = () => list?.querySelector("[aria-current] .rv__t a") ?? links()[0];

list?.addEventListener("click", (event) => {
  const link = event.target.closest(".rv__t a");
  const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (!link || elsewhere || !wide.matches) return;
  event.preventDefault();
  show(link, { focus: event.detail === 0 }); // 0: by a key, which opens it to be read
});

// ---- the record ends where the window does, however far one has scrolled: its lower edge is in reach ----

const desk = document.getElementById("desk");

function fit() {
  if (one()) desk.style.setProperty("--one-top", `${Math.round(one().getBoundingClientRect().top)}px`);
}

addEventListener("scroll", fit, { passive: true });
addEventListener("resize", fit);
fit();

// ---- keys, only while the list or the record has the focus ----

function step(from, direction) {
  const all = links();
  return all[all.indexOf(from) + direction];
}

function direction(event, arrows) {
  const keys = { j: 1, k: -1, ...(arrows && { ArrowDown: 1, ArrowUp: -1 }) };
  return event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
}

list?.addEventListener("keydown", (event) => {
  const link = event.target.closest(".rv__t a");
  const way = direction(event, true);
  if (!keysOn || !link || !way) return;
  event.preventDefault();
  const next = step(link, way);
  if (!next) return;
  next.focus();
  if (!wide.matches) return;
  clearTimeout(resting);
  resting = setTimeout(() => show(next, { said: true }), REST);
});

document.addEventListener("keydown", (event) => {
  const { target } = event;
  if (!keysOn || !one()?.contains(target) || target.matches("input, textarea, select")) return;
  if (event.key === "Escape") return leave();
  const way = wide.matches && direction(event, false);
  const next = way && current() && step(current(), way);
  if (!next) return;
  event.preventDefault();
  show(next, { focus: true, said: true });
});

function leave() {
  if (wide.matches) current()?.focus();
  else one().querySelector(".one__back").click();
}

// ---- the switch of the keys stands beside the hint ----

const keys = document.querySelector("[data-keys]");
const keysSwitch = document.querySelector("[data-keys-switch]");

function showKeys() {
  keysSwitch.textContent = keysOn ? "Switch keys off" : "Switch keys on";
  document.querySelector("[data-keys-hint]").hidden = !keysOn;
}

if (keys && list) {
  keys.hidden = false;
  showKeys();
  keysSwitch.addEventListener("click", () => {
    keysOn = !keysOn;
    try {
      localStorage.setItem(KEYS, keysOn ? "on" : "off");
    } catch {
      // storage may be forbidden; the choice then holds for this page
    }
    showKeys();
  });
}

// ---- previous and next of the record, and what was said of it ----

document.addEventListener("click", (event) => {
  const link = event.target.closest(".one__nav a");
  if (!link || !wide.matches || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const same = links().find((other) => other.href === link.href);
  if (!same) return;
  event.preventDefault();
  show(same, { focus: event.detail === 0, said: true });
});

let scrolled = 0; // the record keeps its place when a note is added
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.id === "one") scrolled = one().scrollTop;
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id === "one" && !one().querySelector("[autofocus]")) one().scrollTop = scrolled;
});

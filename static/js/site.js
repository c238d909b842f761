// What every page does: theme, motion, and a little help with forms.
const root = document.documentElement;

function remember(name, value) {
  root.dataset[name] = value;
  try {
    localStorage.setItem(name, value);
  } catch {
    // storage may be forbidden; the choice then holds for this page
  }
}

function isStill() {
  if (root.dataset.motion) return root.dataset.motion === "off";
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

function isDark() {
  if (root.dataset.theme) return root.dataset.theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

for (const button of document.querySelectorAll("[data-motion-toggle]")) {
  const show = () => button.setAttribute("aria-pressed", isStill());
  show();
  button.addEventListener("click", () => {
    remember("motion", isStill() ? "on" : "off");
    show();
  });
}

for (const button of document.querySelectorAll("[data-theme-toggle]")) {
  button.addEventListener("click", () => remember("theme", isDark() ? "light" : "dark"));
}

function showCount(field) {
  const most = Number(field.dataset.most).toLocaleString("en");
  // as the server counts: characters, not the two halves of one
  const counted = [...field.value].length.toLocaleString("en");
  document.getElementById(field.dataset.count).textContent = `${counted} / ${most}`;
}
document.querySelectorAll("[data-count]").forEach(showCount);
document.addEventListener("input", ({ target }) => target.dataset.count && showCount(target)); // also one that comes later

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.form) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
});

// a second click while the first is still on its way would start a second run
const ONCE_IN = 10_000;
const sent = new WeakMap();

document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  if ((submitter?.formMethod || form.method) !== "post") return;
  if (event.timeStamp < sent.get(form) + ONCE_IN) event.preventDefault();
  else sent.set(form, event.timeStamp);
});
addEventListener("pageshow", () => {
  for (const form of document.forms) sent.delete(form); // back, with the page as it was left
});

// the account menu gives way to Escape and to anything else
for (const menu of document.querySelectorAll("details.menu")) {
  document.addEventListener("pointerdown", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !menu.contains(relatedTarget)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}

// Texts that were erased leave the open pages that show them: such a page is loaded anew, but not under somebody's hands.
const ASK_EVERY = 60_000;
const isTyped = (field) => field.value !== field.defaultValue;

async function askErased({ dataset: { ask, erased } }) {
  const answer = await fetch(ask, { cache: "no-store" });
  if (answer.redirected || (!answer.ok && answer.status !== 404)) return; // it asks again
  const same = answer.ok && (await answer.text()) === erased;
  if (!same && ![...document.querySelectorAll("textarea")].some(isTyped)) location.reload();
}

function askErasedAll() {
  if (document.hidden) return;
  for (const shown of document.querySelectorAll("[data-erased]")) askErased(shown).catch(() => {}); // not reachable now
}

if (document.querySelector("[data-erased]")) {
  setInterval(askErasedAll, ASK_EVERY);
  document.addEventListener("visibilitychange", askErasedAll);
  addEventListener("pageshow", ({ persisted }) => persisted && askErasedAll());
}

// a form that comes back with errors says so first
document.querySelector(".errors")?.focus();

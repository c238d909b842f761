// The transcript of a debate follows what is newest, as long as one reads at its end; and the forms beneath it.
import { $, $$ } from "./page.js";

const box = $("#log");
const list = $(".log__list", box);
const news = $(".log__new");
const all = $(".log__all");
const NEAR = 48; // px that count as the end

const isScrolled = () => getComputedStyle(box).overflowY === "auto"; // on phones the page itself is
const isAtEnd = () => box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
const shown = () => list.querySelectorAll(":scope > [id^='msg-']:not([hidden], [aria-busy])").length;

let following = !location.hash; // a link may lead to what was said long ago
let read = shown();

function toEnd() {
  box.scrollTop = box.scrollHeight;
}

function count() {
  const unread = shown() - read;
  if (following || unread <= 0) {
    read = shown();
    news.hidden = true;
    return;
  }
  const words = unread === 1 ? "1 new message" : `${unread} new messages`;
  if (news.textContent !== words) news.textContent = words;
  news.hidden = false;
}

const stay = () => isScrolled() && following && toEnd();
new ResizeObserver(stay).observe(box); // also where a form beneath it grows
box.addEventListener("scroll", () => {
  following = isAtEnd();
  if (following) count();
});
news.addEventListener("click", () => {
  toEnd();
  box.focus({ preventScroll: true });
});
all.addEventListener("click", () => {
  list.toggleAttribute("data-all", true);
  box.focus({ preventScroll: true });
});

// what is replaced is replaced in the list: one look after all of a message is in
new MutationObserver(() => {
  if (!isScrolled()) return;
  if (following) toEnd();
  count();
}).observe(list, { childList: true, subtree: true, attributes: true, attributeFilter: ["hidden"] });

stay();
document.fonts?.ready.then(stay);

// ---- the forms: each is sent and comes back by itself, so that what is typed in another one stays ----

const foot = box.closest(".log");

foot.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.target.tagName !== "TEXTAREA") return;
  event.preventDefault();
  event.target.form?.requestSubmit($("button", event.target.form));
});
// what was refused brings the form again, with why
foot.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.xhr.status < 400 || !/^\s*<(form|div)/.test(detail.serverResponse)) return;
  detail.shouldSwap = true;
  detail.isError = false;
});
for (const name of ["htmx:sendError", "htmx:responseError"]) {
  foot.addEventListener(name, ({ detail }) => {
    const line = $(".mine__line, .speak__line", detail.elt.closest("form") ?? detail.elt);
    if (!line) return;
    line.textContent = "It could not be sent. What you wrote is still here: try again.";
    line.hidden = false;
  });
}

// ---- what is typed in them is still there when the page is loaded again ----

const atFirst = (options) => Math.max(0, [...options].findIndex((option) => option.defaultSelected));
const isOurs = ({ form, type }) => form && !["hidden", "submit"].includes(type);
const written = () => $$("input, select, textarea", foot).filter(isOurs);
const keyOf = ({ form, name, type, value }) => `${form.id || form.dataset.turn} ${name}${type === "checkbox" ? ` ${value}` : ""}`;
const valueOf = (field) => (field.type === "checkbox" ? field.checked : field.value);
const isChanged = (field) => {
  if (field.options) return field.selectedIndex !== atFirst(field.options);
  return field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
};

function bringBack(field) {
  const kept = history.state?.written?.[keyOf(field)];
  if (kept === undefined) return;
  field[field.type === "checkbox" ? "checked" : "value"] = kept;
  field.closest("details")?.setAttribute("open", "");
}

function keep() {
  const changed = written().filter(isChanged).map((field) => [keyOf(field), valueOf(field)]);
  history.replaceState({ ...history.state, written: Object.fromEntries(changed) }, "");
}

let keeping;
for (const name of ["input", "htmx:afterSettle"]) {
  foot.addEventListener(name, () => {
    clearTimeout(keeping);
    keeping = setTimeout(keep, 300); // what loads the page again takes the state from before it is hidden
  });
}
// a link to the same address keeps the state, but who follows it has begun anew
if (performance.getEntriesByType("navigation")[0]?.type !== "navigate") written().forEach(bringBack);

// ---- the turn of whoever sits here: its form comes when it is asked for, and never goes with what was typed ----

const mine = $("#mine");
const ownForm = () => $("form", mine);
const isTyped = (form) => $$("textarea, input[type=text]", form).some((field) => field.value.trim());

function turnAsked() {
  const turns = $("#asked").dataset.turns.split(" ");
  return turns.find((one) => one.startsWith(`${mine.dataset.seat}:`))?.split(":")[1] ?? "";
}

let taken = mine && (ownForm()?.dataset.turn ?? ""); // also once it is answered, until the page is told that it is over

function askForTurn() {
  const asked = turnAsked();
  const form = ownForm();
  taken = asked && (form?.dataset.turn ?? taken);
  // of two requests the second would take away what is typed into what the first one brought
  if (asked === (form?.dataset.turn ?? taken) || [mine, form].some((one) => one?.matches(".htmx-request"))) return;
  if (form && isTyped(form)) return endTurn(form);
  if (asked) return htmx.trigger(mine, "due");
  if (mine.contains(document.activeElement)) box.focus({ preventScroll: true });
  mine.replaceChildren();
}

function endTurn(form) {
  if (form.hasAttribute("data-over")) return;
  form.toggleAttribute("data-over", true);
  if (form.contains(document.activeElement)) $("textarea", form).focus({ preventScroll: true });
  $(".mine__go", form).hidden = true;
  $(".mine__over", form).hidden = false;
}

// what comes for the next turn does not replace what has been typed since it was asked for
function leaveWhatIsTyped({ detail }) {
  const form = ownForm();
  if (detail.requestConfig.elt !== mine || !form || !isTyped(form)) return;
  detail.shouldSwap = false;
  endTurn(form);
}

if (mine) {
  mine.addEventListener("htmx:beforeSwap", leaveWhatIsTyped);
  new MutationObserver(askForTurn).observe(foot, { childList: true });
  mine.addEventListener("htmx:afterSettle", askForTurn);
}

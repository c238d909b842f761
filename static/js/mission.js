// The live page of a mission: whose steps are looked at, what stays as it was when a part is drawn anew, and a field to
// answer what a command asks.
import { tendGates } from "./at-gates.js";
import { $, $$ } from "./page.js";

const mission = $("#mission");
const isPlain = (event) => !(event.ctrlKey || event.metaKey || event.shiftKey);

tendGates(mission, () => $("h1"));

// ---- whose steps: in the address, so that a reload and a link keep it ----

function focus(number) {
  mission.dataset.focus = number;
  for (const link of $$("[data-focuses]", mission)) {
    if (link.dataset.focuses === number) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

mission.addEventListener("click", (event) => {
  const link = event.target.closest("[data-focuses]");
  if (!link || !isPlain(event)) return;
  event.preventDefault();
  focus(link.dataset.focuses);
  history.replaceState(history.state, "", `?focus=${link.dataset.focuses}`);
  $(`#agent-${link.dataset.focuses}`)?.scrollIntoView({ block: "nearest" });
});

// ---- what is drawn anew stays unfolded, and where somebody has scrolled to ----

const kept = new Map();
const isAtEnd = (screen) => screen.scrollHeight - screen.scrollTop - screen.clientHeight < 8;

document.addEventListener("htmx:oobBeforeSwap", (event) => {
  for (const part of $$("[data-keep]", event.target)) {
    const place = { top: isAtEnd(part) ? undefined : part.scrollTop, left: part.scrollLeft };
    kept.set(part.dataset.keep, part.matches("details") ? part.open : place);
  }
  if (document.activeElement?.matches(".term__screen")) goOn(event.detail);
});

// who reads a screen by keyboard stays in it: it keeps its element, and what stands there is drawn anew
function goOn(swap) {
  const screen = document.activeElement;
  const next = $(".term", swap.fragment);
  const drawn = next && $(".term__screen", next);
  if (!drawn || !swap.target.contains(screen) || next.dataset.number !== swap.target.dataset.number) return;
  screen.className = drawn.className;
  screen.replaceChildren(...drawn.childNodes);
  for (const part of [".term__head", ".term__foot"]) $(part, swap.target).replaceWith($(part, next));
  swap.target.dataset.state = next.dataset.state;
  swap.shouldSwap = false;
}

function keep(part) {
  const was = kept.get(part.dataset.keep);
  if (part.matches("details")) {
    part.open = was ?? false;
    return;
  }
  part.scrollTop = was?.top ?? part.scrollHeight; // the newest line, as in any terminal
  part.scrollLeft = was?.left ?? 0;
}

document.addEventListener("htmx:oobAfterSwap", () => {
  focus(mission.dataset.focus);
  $$("[data-keep]", mission).forEach(keep);
});
$$("[data-follow]", mission).forEach(keep);

// ---- what a command asks is answered beside what is pushed ----

mission.addEventListener("click", (event) => {
  const link = event.target.closest("[data-types], [data-leave]");
  if (!link || !isPlain(event)) return;
  event.preventDefault();
  const place = $("#types");
  if (link.matches("[data-leave]")) return place.replaceChildren();
  const typed = $("form", place);
  if (typed?.dataset.terminal === link.dataset.types) return $("input[name=text]", typed).focus();
  htmx.ajax("GET", link.href, { source: place, target: place, swap: "innerHTML" });
});

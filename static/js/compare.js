// Two ticked rows of a list: the bar below names them, and a third tick replaces the first.
const list = document.getElementById("history");
const announcer = document.getElementById("announcer");
const ticks = () => [...list.querySelectorAll(".list__tick input")];
const nameOf = (tick) => tick.closest("tr").querySelector(".list__t > a").textContent.trim();
const short = (name) => (name.length > 28 ? `${name.slice(0, 27)}…` : name);

let chosen = []; // in the order in which they were ticked

function say() {
  const bar = document.getElementById("compare");
  if (!bar) return;
  const [one, other] = chosen;
  const kinds = new Set(chosen.map((tick) => tick.dataset.kind));
  const go = bar.querySelector("[type=submit]");
  go.disabled = chosen.length !== 2 || kinds.size > 1;
  go.setAttribute("aria-disabled", go.disabled);
  go.textContent = kinds.size > 1 ? "Only two of one kind" : "Compare the two";
  bar.querySelector("[data-chosen]").replaceChildren(...named(one, other));
}

function named(one, other) {
  if (!one) return [];
  const count = document.createElement("b");
  count.textContent = `${chosen.length} chosen.`;
  return [count, ` ${short(nameOf(one))}`, other ? ` and ${short(nameOf(other))}` : ". Tick one more of its kind."];
}

list?.addEventListener("change", ({ target }) => {
  if (!target.matches(".list__tick input")) return;
  chosen = chosen.filter((tick) => tick !== target);
  if (target.checked) chosen.push(target);
  const replaced = chosen.length > 2 ? chosen.shift() : null;
  if (replaced) replaced.checked = false;
  say();
  const kinds = new Set(chosen.map((tick) => tick.dataset.kind));
  if (replaced) announcer.textContent = `In place of ${short(nameOf(replaced))}.`;
  else announcer.textContent = kinds.size > 1 ? "Only two of one kind." : `${chosen.length} chosen.`;
});

list?.addEventListener("reset", () => {
  chosen = [];
  announcer.textContent = "None chosen.";
});

// what came anew with a search has its own rows; a page that one goes back to may have kept its ticks
function look() {
  chosen = ticks().filter((tick) => tick.checked).slice(-2);
  for (const tick of ticks()) tick.checked = chosen.includes(tick);
  say();
}
document.addEventListener("htmx:afterSettle", ({ target }) => target.id === "results" && look());
addEventListener("pageshow", look);
if (list) look();

// What waits is told as soon as it does: a link to what is new, and, for who wants it, a notice of the browser. A form
// is never touched.
import { listen } from "./bar.js";
import { tellOver, tellWaits } from "./tell.js";

const $ = (selector, within = document) => within.querySelector(selector);

const page = $("#waiting");
const newer = $("#waiting-newer");
const announcer = $("#announcer");
let known = Number(page.dataset.after);

function showNewer(gates) {
  newer.hidden = !gates.length;
  $("[data-n]", newer).textContent = gates.length;
}

function heard(gates, over) {
  showNewer(gates);
  tellOver(over);
  const unheard = gates.filter((gate) => gate.id > known);
  if (!unheard.length) return;
  known = unheard.at(-1).id;
  announcer.textContent = unheard.length > 1 ? `${unheard.length} new things wait for you.` : `Waits for you: ${unheard[0].title}`;
  tellWaits(unheard);
}

listen(page.dataset.after, heard);

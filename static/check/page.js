// The page that looks at evidence: a file comes in, one of four results comes out, and nothing leaves the browser.
import { Doubtful, isZip, recordOf } from "./zip.js";
import { minuteOf, momentOf } from "./record.js";
import { NoEd25519, Odd, keyOf, notesIn, verify } from "./verify.js";
import { get } from "./python.js";

const $ = (id) => document.getElementById(id);
const SIGNS = { approve: "check", reject: "cross", none: "dash", pending: "pause" };
const AT_ONCE = 40; // ms without a pause, so that the page stays awake
const PATIENT = 2000; // ms: what takes longer says how far it is
const MOST_SAID = 12; // problems that are shown
const UNKNOWN = "of a kind whose rule is not known here";
const NO_EVIDENCE = "This is no evidence file.";

let chosen = null; // { name, size, data } of the file that is looked at
let run = 0; // of the newest look: an older one that still goes on says nothing

// ---- a file comes in ----

$("choose").addEventListener("click", () => $("file").click());
$("another").addEventListener("click", () => $("file").click());
$("print").addEventListener("click", () => print());
$("file").addEventListener("change", ({ target }) => {
  if (target.files[0]) take(target.files[0]);
  target.value = ""; // the same one may be chosen again
});

for (const type of ["dragover", "dragenter"]) {
  addEventListener(type, (event) => {
    event.preventDefault();
    $("drop").toggleAttribute("data-over", true);
  });
}
addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || $("drop").removeAttribute("data-over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  $("drop").removeAttribute("data-over");
  if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
});
for (const field of [$("key"), $("anchor")]) field.addEventListener("input", () => chosen && look());

async function take(file) {
  const mine = ++run;
  try {
    const data = new Uint8Array(await file.arrayBuffer());
    const records = isZip(data) ? await recordOf(data) : data;
    if (mine !== run) return;
    chosen = { name: file.name, size: file.size, data: records };
  } catch (error) {
    if (mine === run) refuse(error);
    return;
  }
  await look();
}

function refuse(error) {
  const said = error instanceof Doubtful ? error.message : NO_EVIDENCE;
  chosen = null;
  $("drop").hidden = false;
  $("result").hidden = $("record").hidden = true;
  $("no-evidence").hidden = false;
  $("no-evidence").querySelector("span").textContent = said;
  document.documentElement.dataset.checked = "none";
  announce(said);
  document.title = `${said} Check evidence · MAGI`;
  if (!(error instanceof Odd || error instanceof TypeError || error instanceof RangeError)) throw error;
}

// ---- it is looked at ----

async function look() {
  const mine = ++run;
  const [key, anchor] = [$("key").value.trim(), $("anchor").value];
  document.documentElement.removeAttribute("data-checked");
  if (!fits("key", () => key && keyOf(key), "This is no key of a log.") || !fits("anchor", () => notesIn(anchor))) {
    $("said").hidden = true; // nothing is said by half of what was asked
    return;
  }
  begin();
  try {
    const found = await verify(chosen.data, key, anchor, patience(mine));
    if (mine === run) show(found, key);
  } catch (error) {
    if (mine !== run || error instanceof Overtaken) return;
    if (error instanceof NoEd25519) cannot();
    else if (error instanceof Odd && anchor.trim() && /checkpoint/i.test(error.message)) fits("anchor", () => { throw error; });
    else refuse(error);
  } finally {
    if (mine === run) $("wait").hidden = true;
  }
}

class Overtaken extends Error {}

function fits(id, read, said = "") {
  try {
    read();
    $(`${id}-err`).hidden = true;
    $(id).removeAttribute("aria-invalid");
    return true;
  } catch (error) {
    $(`${id}-err`).textContent = said || error.message;
    $(`${id}-err`).hidden = false;
    $(id).setAttribute("aria-invalid", "true");
    return false;
  }
}

function begin() {
  $("drop").hidden = true;
  $("result").hidden = false;
  $("no-evidence").hidden = true;
  $("name").textContent = shown(chosen.name);
  $("size").textContent = chosen.size < 1_000_000 ? `${Math.ceil(chosen.size / 1000)} kB` : `${(chosen.size / 1e6).toFixed(1)} MB`;
}

// Lets the page breathe, and says how far it is to whoever has waited.
function patience(mine) {
  const since = performance.now();
  let breath = since;
  return async (entry, of) => {
    const now = performance.now();
    if (now - breath < AT_ONCE) return;
    await new Promise((go) => setTimeout(go));
    if (mine !== run) throw new Overtaken();
    breath = performance.now();
    if (now - since < PATIENT) return;
    $("wait").hidden = false;
    $("wait").querySelector("span").textContent = `Entry ${entry.toLocaleString("en")} of ${of.toLocaleString("en")}`;
  };
}

// ---- what it came to ----

function show(found, key) {
  const { problems, counts } = found;
  const signed = key && !counts["not yet in a checkpoint"];
  const result = problems.length ? changed(found) : signed ? intact(found) : alone(found, key);
  say(result);
  $("list").replaceChildren(...result.lines.map(lineOf));
  $("now").hidden = !result.now;
  $("now").querySelector("span").textContent = result.now ?? "";
  about(found);
}

function intact(found) {
  return {
    checked: "intact", state: "approve", word: "Intact",
    lead: `${subject(found)} unchanged since ${since(found)},`, rest: "and signed by the key that you put in.",
    lines: [...entriesOk(found), ["approve", `Signed by ${shown(found.key.split("+")[0])}`, ["by the key that you put in", ...whatElse(found)].join("; ")]],
  };
}

function alone(found, key) {
  const why = key ? [] : ["no key was put in"];
  return {
    checked: "alone", state: "pending", word: "Nobody vouches",
    lead: found.records.length > 1 ? "The records agree with themselves." : "The file agrees with itself.",
    rest: key
      ? "Its newest part is not signed yet: ask for the file again later, and check that one."
      : "Whether it is the one that was sealed, only a key can tell.",
    lines: [...entriesOk(found), ["none", "The signature does not vouch for it", [...why, ...whatElse(found)].join("; ")]],
  };
}

function changed({ problems, lines }) {
  const [first] = problems;
  const more = problems.length - MOST_SAID;
  const shownOnes = problems.slice(0, MOST_SAID).map(({ problem, where }) => ["reject", problem, placeOf(where)]);
  return {
    checked: "changed", state: "reject", word: "Changed",
    lead: first.problem, rest: lines > 1 ? `In ${problems.length} places of ${lines} records.` : "This is not what was sealed.",
    lines: [...shownOnes, ...(more > 0 ? [["none", `And ${more.toLocaleString("en")} more`, ""]] : [])],
    now: "Ask whoever gave you the file for the original, or the house for the same record: this check on it says who is right. " +
      "If every line names the key, the key may be that of another house.",
  };
}

const subject = ({ records }) => (records.length > 1 ? `All ${records.length} records are` : "It is");
const since = ({ records }) => {
  const moments = records.flatMap(({ leaves }) => leaves.map((leaf) => momentOf(leaf.at)));
  return minuteOf(moments.reduce((newest, one) => (one > newest ? one : newest)));
};

function entriesOk({ records, counts }) {
  const entries = records.flatMap((record) => record.entries);
  const [from, to] = [entries[0], entries.at(-1)];
  const about = records.length > 1 ? `of ${records.length} records` : `from “${from.kind}” at ${timeOf(from)} to “${to.kind}” at ${timeOf(to)}`;
  return [
    ["approve", `${entries.length} of ${entries.length} entries follow from one another`, about],
    counts[UNKNOWN]
      ? ["none", "Its rules are not known to this page", "whether they give this outcome is not looked at"]
      : ["approve", "The rules give this outcome", "worked out anew from what stands before it"],
  ];
}

const timeOf = (entry) => momentOf(entry.at).toISOString().slice(11, 19);
const whatElse = ({ counts, elsewhere }) => [
  ...Object.entries(counts).filter(([, number]) => number).map(([what, number]) => `${number} ${what}`),
  ...(elsewhere ? [`${elsewhere} leaves of the log are not in it`] : []),
];
const placeOf = (where) => (shown(where).length > 300 ? `${shown(where).slice(0, 300)}…` : shown(where));

function cannot() {
  const why = isSecureContext ? "This browser does not know Ed25519." : "A browser checks signatures on pages with HTTPS alone.";
  say({ checked: "cannot", state: "pending", word: "Not checked", lead: why, rest: "Use the program beside: it needs nothing but Python." });
  $("list").replaceChildren();
  $("now").hidden = true;
}

function say({ checked, state, word, lead, rest }) {
  $("said").hidden = false;
  $("plate").dataset.state = state;
  $("plate").classList.toggle("plate--open", state === "pending");
  $("plate").replaceChildren(signOf(state), $("word"));
  $("word").textContent = word;
  $("lead").textContent = lead;
  $("rest").textContent = rest;
  document.documentElement.dataset.checked = checked;
  document.title = `${word}: check evidence · MAGI`;
  announce(`${word}. ${lead}`);
}

function announce(words) {
  $("announcer").textContent = words;
}

function lineOf([state, lead, where]) {
  const line = $("line").content.cloneNode(true);
  line.querySelector(".lamp").dataset.state = state;
  line.querySelector(".lamp").append(signOf(state));
  line.querySelector("b").textContent = lead;
  line.querySelector(".check__where").textContent = where;
  return line;
}

function signOf(state) {
  const [svg, use] = ["svg", "use"].map((name) => document.createElementNS("http://www.w3.org/2000/svg", name));
  for (const [name, value] of Object.entries({ viewBox: "0 0 20 20", width: 20, height: 20, "aria-hidden": "true" })) svg.setAttribute(name, value);
  use.setAttribute("href", `#i-${SIGNS[state]}`);
  svg.append(use);
  return svg;
}

// ---- the record, where the file has one ----

function about({ records, problems }) {
  $("record").hidden = records.length !== 1;
  if (records.length !== 1) return;
  const [{ id, entries }] = records;
  const asked = entries[0];
  const end = entries.findLast((entry) => entry.kind === "ended")?.facts;
  const outcome = end && (get(end, "verdict") ?? get(end, "outcome") ?? get(end, "status"));
  $("title").textContent = shown(asked ? get(asked.texts, "title", "") || get(asked.texts, "content", "").slice(0, 90) : "");
  $("facts").textContent = [shown(id.slice(0, 8)), asked && minuteOf(momentOf(asked.at))].filter(Boolean).join(", ");
  $("outcome").textContent = outcome ? `It says: ${shown(inWords(String(outcome)))}${problems.length ? ", and was changed" : ""}` : "";
  $("when").textContent = `Checked in this browser on ${minuteOf(new Date())}. The file was not sent.`;
}

// What nobody would see, and what would turn the words around it, is shown by its number.
const inWords = (code) => (/^[a-z]+(_[a-z]+)+$/.test(code) ? code.replaceAll("_", " ") : code);
const shown = (text) => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (sign) => `‹U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);

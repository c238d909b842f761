// What is wrong with the log of which these records have leaves, and with what records say of one another.
import { canonical, get, strict } from "./python.js";
import { hex } from "./sha256.js";
import { pairOf } from "./record.js";

const DAY = 86_400_000;

// `roots` and `anchors`: sizes of the log, each with its root.
export function* examineLog(leaves, roots, anchors) {
  const told = new Map();
  const peaks = [];
  for (const index of [...leaves.keys()].sort((one, other) => one - other)) {
    const { prev, node, at, run } = leaves.get(index);
    const before = leaves.get(index - 1);
    if (before && (prev !== hex(before.node) || before.at - at > DAY)) {
      yield `The log was changed: a leaf does not follow the one before or is a day older. (leaf ${index}, ${run})`;
    }
    if (index === told.size) grow(peaks, node, index, told); // all leaves so far are here
  }
  const signed = new Set([...sizesOf(roots), ...sizesOf(anchors)]);
  const newest = Math.max(...sizesOf(anchors));
  if (anchors.size && !told.has(newest) && !sizesOf(roots).includes(newest)) {
    yield `The log is cut, or not all of it is here: export all, or with --anchor. (the anchor at ${newest})`;
  }
  yield* examineProofs(leaves, signed, told.size);
  const both = [...new Map([...roots, ...anchors]).values()].sort(([one], [other]) => one - other);
  for (const [size, root] of both) {
    if (!told.has(size)) told.set(size, root);
    if (told.get(size) === root) continue;
    yield `The log was changed after a checkpoint was signed. (its first ${size} leaves are told in two ways)`;
    break;
  }
}

export const sizesOf = (roots) => [...roots.values()].map(([size]) => size);

function grow(peaks, node, index, told) {
  for (let left = index; left % 2; left = Math.floor(left / 2)) node = pairOf(peaks.pop(), node);
  peaks.push(node);
  told.set(told.size + 1, hex([...peaks].reverse().reduce((right, left) => pairOf(left, right))));
}

// What a checkpoint covers has a proof, or all leaves that it covers are here.
function* examineProofs(leaves, signed, told) {
  const vouched = Math.max(0, ...[...signed].filter((size) => size <= told));
  const newest = Math.max(...signed);
  for (const index of [...leaves.keys()].sort((one, other) => one - other)) {
    const { run, size } = leaves.get(index);
    if (Math.max(size, vouched) <= index && index < newest) {
      yield `It has no proof, and a checkpoint is newer: forged, or export it anew. (record ${run}, leaf ${index})`;
    }
  }
}

// What a record says of others: whose it is, whom it names, what that one should have, and what is wrong where it has not.
export function* claims(name, record, here) {
  const own = here.get(record.id) ?? new Set();
  here.set(record.id, own);
  for (const entry of record.entries) {
    const [kind, facts, texts] = [entry.kind, entry.facts ?? strict({}), entry.texts];
    own.add(canonical(["hash", entry.hash])).add(canonical([kind, get(texts, "content")]));
    own.add(canonical([verdictOf(get(facts, "verdict"))]));
    if (kind === "child") yield [name, String(facts.run), ["hash", String(facts.hash)], "What it has made is not as it ended"];
    const origin = get(facts, "forked");
    if (origin) yield [name, String(origin.run), ["hash", String(origin.hash)], FORKED];
    if (kind === "gate" && get(texts, "text")) {
      yield [name, String(get(facts, "council")), ["submitted", texts.text], "A council judged another text"];
    }
    const version = ["accepted", get(facts, "memory"), get(facts, "version")];
    if (get(facts, "accepted")) own.add(canonical(version));
    if (kind === "mission.recalled" && facts.on) {
      yield [name, MEMORIES, version, "A memory was used that nobody had accepted"];
    }
    if (Object.hasOwn(facts, "judged_by")) {
      yield [name, String(facts.judged_by), [facts.said.slice(0, 6)], "A council has not decided so"];
    }
  }
}

const FORKED = "It was forked from something else";

// Of these claims, those about the origin of a fork that is not here.
export const originsElsewhere = (claimed, here) => claimed.filter(([, run, , problem]) => problem === FORKED && !here.has(run));

const MEMORIES = "6d616769-0000-4000-8000-6d656d6f7279"; // the record of what crews remember

const verdictOf = (verdict) => (verdict === null ? "None" : String(verdict)).slice(0, 6);

export const isWrong = ([, other, claim], here) =>
  here.has(other) && !here.get(other).has(canonical(claim)) && !here.get(other).has(canonical([claim[0], null]));

// Verifies records of MAGI as tools/verify.py does, rule by rule: what both say of a file is the same.
import { canonical, get, isObject, loads, Odd } from "./python.js";
import { claims, examineLog, isWrong, originsElsewhere, sizesOf } from "./log.js";
import { examine, examineSeals, LOG, shaped } from "./record.js";
import { checkpoints, keyOf, NotSigned, notesIn } from "./signed.js";
import { procedureOf, RULES } from "./rules/all.js";

export { NoEd25519 } from "./signed.js";
export { Odd, keyOf, notesIn };

const COUNTED = new Map([
  ["mission.step", "steps of missions"],
  ["mission.recalled", "changes of their memories"],
  ["gate", "gates"],
]);
const READER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// What a file comes to: every problem in a sentence with its place, and how many records are what. `seen` is told of
// each entry that was looked at, and may take its time. Odd where there is no record in it.
export async function verify(data, word, anchor, seen) {
  const lines = linesOf(data).map(read);
  const key = word || lines.map(({ record }) => record && get(record, "key")).find(Boolean) || "";
  const notes = lines.map(({ record }) => record && get(record, "checkpoint")).filter((note) => note !== null);
  const kept = notesIn(anchor);
  const checkpoint = await checkpoints([...notes, ...kept], key);
  const found = new Verified(key, checkpoint, lines.length);
  const total = lines.reduce((sum, { record }) => sum + ((record && get(record, "entries")?.length) || 0), 0);
  for (const line of lines) {
    for (const one of found.looksAt(line)) {
      if (one) found.problems.push(one);
      else await seen(++found.entries, total);
    }
  }
  if (!lines.some(({ record }) => record && (word || Object.hasOwn(record, "key")))) throw new Odd("there is no record in the file");
  found.wholeLog(new Map(kept.map(checkpoint).map(({ size, root }) => [`${size} ${root}`, [size, root]])));
  return found;
}

function* linesIn(data) {
  for (let start = 0; start < data.length; ) {
    const end = data.indexOf(10, start);
    yield data.subarray(start, end < 0 ? data.length : end);
    start = end < 0 ? data.length : end + 1;
  }
}

const linesOf = (data) => [...linesIn(data)];

function read(bytes, place) {
  const name = `line ${place + 1}`;
  try {
    const text = READER.decode(bytes);
    const record = loads(text);
    if (!isObject(record)) throw new Odd("it is no record");
    return { name: `record ${record.id}`, text, record };
  } catch (error) {
    return { name, record: null, odd: error };
  }
}

class Verified {
  problems = [];
  entries = 0;
  records = [];
  counts = { redacted: 0, "not yet in a checkpoint": 0 };
  #leaves = new Map();
  #roots = new Map([["0 ", [0, ""]]]);
  #strangers = [];
  #seals = [];
  #claimed = [];
  #here = new Map();

  constructor(key, checkpoint, lines) {
    Object.assign(this, { key, checkpoint, lines });
  }

  *looksAt({ name, text, record, odd }) {
    try {
      if (odd) throw odd;
      if (record.key !== this.key) throw new NotSigned();
      if (record.checkpoint !== null) this.checkpoint(record.checkpoint);
      shaped(record);
      if (text !== canonical(record)) yield { problem: "The line is not written as records are.", where: name };
      for (const one of examine(record, this.key, this.checkpoint, this.#leaves, this.#roots)) yield one && at(name, ...one);
      for (const [index, ...one] of examineSeals(record)) this.#seals.push([index, at(name, ...one)]);
      this.#claimed.push(...claims(name, record, this.#here));
      this.#tally(record);
    } catch (error) {
      if (error instanceof NotSigned) this.#strangers.push(name);
      else if (isOdd(error)) yield { problem: "It cannot be read.", where: `${name}: ${error.message}` };
      else throw error;
    }
  }

  #tally(record) {
    const kinds = new Set(record.entries.map((entry) => entry.kind));
    const procedure = procedureOf(record.entries);
    this.records.push(record);
    for (const one of record.entries) this.#count(COUNTED.get(one.kind), COUNTED.has(one.kind));
    this.#count("redacted", kinds.has("redacted"));
    this.#count("not yet in a checkpoint", record.leaves.some((leaf) => leaf.proof === null) || !record.leaves.length);
    this.#count("of a kind whose rule is not known here", procedure !== "judgement" && !RULES.has(procedure));
    this.#count("sealed when the log began, later than they happened", kinds.has("adopted") && record.id !== LOG);
  }

  #count(what, is) {
    if (is) this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  // What only all records together tell. `anchors`: what was kept elsewhere.
  wholeLog(anchors) {
    if (this.#strangers.length) {
      const some = `${this.#strangers.length} of ${this.lines} records are not signed with this key`;
      this.problems.push({ problem: `${some}: it is the wrong key, or they are forged.`, where: `first ${this.#strangers[0]}` });
    }
    for (const said of examineLog(this.#leaves, this.#roots, anchors)) this.problems.push(split(said));
    for (const one of this.#claimed.filter((claim) => isWrong(claim, this.#here))) {
      this.problems.push({ problem: `${one[3]}.`, where: `${one[0]}: record ${one[1]}` });
    }
    const elsewhere = originsElsewhere(this.#claimed, this.#here).length;
    if (elsewhere) this.counts["forked from what is not in it"] = elsewhere;
    const begun = [...this.#leaves].filter(([, { run }]) => run === LOG).map(([index]) => index);
    const newest = [...this.#leaves.keys()].reduce((most, index) => Math.max(most, index), 0);
    const first = begun.length ? Math.min(...begun) : newest;
    this.problems.push(...this.#seals.filter(([index]) => index > first).map(([, one]) => one));
    this.elsewhere = Math.max(Math.max(...sizesOf(this.#roots)) - this.#leaves.size, 0);
  }
}

const at = (name, problem, where) => ({ problem, where: name + where });

function split(said) {
  const [, problem, where] = /^(.*?) \((.*)\)$/su.exec(said);
  return { problem, where };
}

// what odd files lead to; a fault of ours among them is told as one, and never as intact
const isOdd = (error) => error instanceof Odd || error instanceof TypeError || error instanceof RangeError;

// What is wrong with one record: its head, its entries, its texts, and its places in the log.
import { canonical, differences, get, isObject, loads, Odd, strict } from "./python.js";
import { digestOf, encode, fromHex, hex, hmac, joined, sha256 } from "./sha256.js";
import { examineDecision } from "./rules/judgement.js";
import { procedureOf, RULES } from "./rules/all.js";

export const LOG = "00000000-0000-0000-0000-000000000000"; // the record of the log itself: that it has begun
const NAMED = { at: "time", "texts asked by": "name of who asked", "texts cancelled by": "name of who cancelled" };
const LATER = /^(?:attempt|gate|decided|tool|[^]*\.[^]*)$/u; // kinds of entries that are sealed with what comes after them
const MONTHS = "January February March April May June July August September October November December".split(" ");
const DAY = 86_400_000;

// ---- what has to be what, before anything is worked out from it ----

const isText = (value) => typeof value === "string";
const orNull = (is) => (value) => value === null || is(value);
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const areTexts = (value) => (Array.isArray(value) ? value : Object.values(value)).every(isText);
const isEntry = (entry) =>
  isObject(entry) && isText(entry.kind) && orNull(isText)(entry.line) && orNull(isObject)(entry.facts) &&
  isObject(entry.texts) && areTexts(entry.texts);
const isLeaf = (leaf) =>
  isObject(leaf) && isCount(leaf.index) && isCount(leaf.seq) && [leaf.head, leaf.at, leaf.prev, leaf.hash].every(isText) &&
  orNull(isText)(leaf.salt) && orNull(Array.isArray)(leaf.proof) && areTexts(leaf.proof ?? []);

export function shaped(record) {
  const fits =
    isText(record.id) && isText(record.key) && Array.isArray(record.entries) && Array.isArray(record.leaves) &&
    record.entries.every(isEntry) && record.leaves.every(isLeaf);
  if (!fits) throw new Odd("something in it is of another kind than in records");
}

export function momentOf(at) {
  const found = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.exec(at)?.[0];
  const moment = found && new Date(`${found}Z`);
  if (!moment || Number.isNaN(moment.getTime())) throw new Odd("this is no time");
  return moment;
}

export const dayOf = (moment) => `${moment.getUTCDate()} ${MONTHS[moment.getUTCMonth()]} ${moment.getUTCFullYear()}`;
export const minuteOf = (moment) => `${dayOf(moment)}, ${moment.toISOString().slice(11, 16)} UTC`;

const factsOf = (entry) => entry.facts ?? strict({});

// ---- its entries and its leaves ----

// Problems, each with its place; null for each entry that was looked at. What it tells of the log is added to the last two.
export function* examine(record, word, checkpoint, logged, roots) {
  const { entries, leaves } = record;
  yield* head(record, word);
  const votes = new Map();
  const [redacted, retried] = ["redacted", "retried"].map((kind) => entries.findLastIndex((entry) => entry.kind === kind));
  let prev = "0".repeat(64);
  for (const [place, entry] of entries.entries()) {
    yield* examineEntry(record, place + 1, prev, votes, place < redacted, place < retried);
    if (entry.line !== null) prev = entry.hash;
    yield null;
  }
  yield* examineEnds(entries);
  const { size, root } = record.checkpoint === null ? { size: 0, root: "" } : checkpoint(record.checkpoint);
  roots.set(`${size} ${root}`, [size, root]);
  let last = { index: -1, seq: 0 };
  for (const leaf of leaves) {
    yield* examineLeaf(record, leaf, last, size, root, logged);
    last = leaf;
  }
  const ends = [entries.length, ...entries.filter((entry) => entry.kind === "retried").map((entry) => entry.seq)];
  if (!ends.every((end) => leaves.some((leaf) => leaf.seq === end))) {
    yield ["Entries were cut off or added: the log ends elsewhere than they do.", ""];
  }
  const rule = RULES.get(procedureOf(entries));
  if (rule) yield* rule(entries);
}

function* head(record, word) {
  const said = Object.fromEntries(["id", "entries", "leaves", "checkpoint"].map((name) => [name, record[name]]));
  const hash = record.entries.length ? record.entries.at(-1).hash : "that of an entry";
  Object.assign(said, { form: "magi-record/1", log: word.split("+")[0], key: word, record_hash: hash });
  for (const how of differences(record, said)) yield ["The head of the record was changed.", `: ${how}`];
}

// `redacted` and `retried`: whether a later entry says so.
function* examineEntry(record, seq, prev, votes, redacted, retried) {
  const { entries, leaves } = record;
  const entry = entries[seq - 1];
  const where = `, entry ${seq}`;
  if (entry.line === null) {
    yield ["It has what no entry tells of, or an entry was deleted.", `${where}: ${entry.kind}`];
    return;
  }
  const texts = Object.entries(entry.texts);
  const key = fromHex(leaves.find((leaf) => leaf.seq >= seq)?.salt ?? "");
  const line = loads(entry.line);
  const untold = redacted || (entry.kind === "ended" && retried);
  if (untold && (texts.length || (redacted && key.length))) {
    yield ["A later entry took its texts away, and they or their key are still there.", where];
  }
  const digests = texts.map(([name, text]) => [name, hex(hmac(key, encode(`${seq} ${name}\n${text}`)))]);
  const made = { form: "magi-entry/1", run: record.id, place: seq, prev, maker: line.maker };
  const row = { ...entry, ...made, texts: untold && !texts.length ? line.texts : Object.fromEntries(digests) };
  const hashed = { ...line, hash: digestOf(entry.line), line: canonical(line), place: line.seq };
  for (const how of differences(row, hashed)) yield [changed(how, entry, leaves), `${where}: ${how}`];
  for (const [why, how] of examineDecision(entries, seq - 1, votes)) yield [`${why}.`, where + how];
}

// A sentence about a difference between an entry and what it tells of.
function changed(difference, entry, leaves) {
  const path = difference.split(" is ")[0];
  const name = get(NAMED, path) ?? path.replace(/^(?:facts|texts) /, "").replaceAll("_", " ");
  const step = get(factsOf(entry), "step");
  const leaf = leaves.find((one) => one.seq >= entry.seq);
  const known = Object.hasOwn(NAMED, path) || name !== path;
  const what = known ? `The ${name}${step ? ` of attempt ${step}` : ""}` : "What is sealed, or what it tells of,";
  const verb = /agents|documents|tokens|scores|retries/.test(name) ? "were" : "was";
  return `${what} ${verb} changed after ${leaf ? minuteOf(momentOf(leaf.at)) : "it was sealed"}.`;
}

function* examineLeaf(record, leaf, last, size, root, logged) {
  const { index, seq } = leaf;
  const where = `, entry ${seq}: leaf ${index} `;
  const said = Object.fromEntries(["index", "seq", "head", "at", "prev"].map((name) => [name, leaf[name]]));
  const line = canonical({ ...said, form: "magi-leaf/1", run: record.id });
  const node = sha256(joined(new Uint8Array([0]), encode(line)));
  if (!record.entries[seq - 1]) throw new Odd("a leaf of no entry");
  const proof = index < size ? (leaf.proof ?? []) : null;
  Object.assign(said, { head: record.entries[seq - 1].hash, hash: hex(node), salt: leaf.salt || null, proof });
  for (const how of differences(leaf, said)) yield ["Its place in the log was changed.", where + how];
  const proven = index >= size || hex(byProof(node, index, size, leaf.proof ?? [])) === root;
  const written = /^[0-9a-f]*$/.test((leaf.salt ?? "") + (leaf.proof ?? []).join(""));
  if (!(proven && written && last.index < index && last.seq < seq) || logged.has(index)) {
    yield ["Its place in the log is not what the checkpoint vouches for, goes backwards or is there twice.", where];
  }
  logged.set(index, { prev: leaf.prev, node, at: momentOf(leaf.at), run: record.id, size });
}

// The root that it leads to, as in RFC 6962.
function byProof(node, index, size, path) {
  if (!path.length) return size === 1 ? node : new Uint8Array();
  if (size < 2) throw new Odd("a proof is too long");
  let left = 1;
  while (left * 2 < size) left *= 2;
  const other = fromHex(path.at(-1));
  if (index < left) return pairOf(byProof(node, index, left, path.slice(0, -1)), other);
  return pairOf(other, byProof(node, index - left, size - left, path.slice(0, -1)));
}

export const pairOf = (left, right) => sha256(joined(new Uint8Array([1]), left, right));

// ---- in which order, and when ----

// What has ended ends again only if it failed and was tried again.
function* examineEnds(entries) {
  let over = null; // unknown: it may have been tried again before there was a log
  for (const [place, entry] of entries.entries()) {
    const where = `, entry ${place + 1}`;
    if (entry.kind === "retried" && over !== null && over !== "failed") yield ["It was tried again and had not failed.", where];
    if (entry.kind === "ended" && over) yield ["It ended once more, and was over already.", where];
    if (entry.kind === "retried" || entry.kind === "ended") over = get(factsOf(entry), "status", "");
  }
}

// What is wrong if the log had begun before a leaf: its index, infinite for what always is.
export function* examineSeals({ id, entries, leaves }) {
  const kinds = entries.map((entry) => entry.kind);
  if (id === LOG && !(kinds.length === 1 && kinds[0] === "adopted")) yield [Infinity, "The log begins more than once.", ""];
  if (kinds.indexOf("submitted", 1) > 0) yield [Infinity, "It does not begin with what was asked.", ""];
  if (leaves.length && kinds[0] === "submitted") {
    const first = leaves[0];
    if (first.seq !== 1) yield [first.index, "What was asked was not sealed when it was submitted.", ""];
    if (kinds.includes("adopted")) yield [first.index, "It says that it is older than the log, and came later.", ""];
  }
  if (leaves.length) yield* examineTimes(entries, leaves);
}

// An entry is as old as its leaf, or no older than what was asked.
function* examineTimes(entries, leaves) {
  const asked = momentOf(entries[0].at);
  for (const [place, entry] of entries.entries()) {
    const leaf = leaves.find((one) => one.seq >= place + 1) ?? leaves.at(-1);
    const [at, logged] = [momentOf(entry.at), momentOf(leaf.at)];
    const begin = LATER.test(entry.kind) ? asked : logged;
    if (at - begin < -DAY || at - logged > DAY) {
      const said = `It says that it is of ${dayOf(at)}, and was sealed on ${dayOf(logged)}.`;
      yield [entries[0].kind === "submitted" ? leaf.index : Infinity, said, `, entry ${place + 1}`];
    }
  }
}

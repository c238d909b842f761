// What is in a zip: the product's own evidence files, stored or deflated, without passwords and without ZIP64. One that
// others may unpack to something else than is read here is refused.
import { Odd } from "./python.js";

const [END, ENTRY, LOCAL] = [0x06054b50, 0x02014b50, 0x04034b50];
const OF_A_MAC = "__macosx/"; // where it puts what it keeps beside files, under their names
const MOST = 512 * 1024 * 1024; // bytes that one entry may come to

export class Doubtful extends Odd {} // of a file that could be read in two ways

export const isZip = (data) => data.length > 3 && viewOf(data).getUint32(0, true) === LOCAL;
const viewOf = (data) => new DataView(data.buffer, data.byteOffset, data.byteLength);

// Its entries: names, and a way to what is in each.
function entriesOf(data) {
  const view = viewOf(data);
  let end = data.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== END) end--;
  if (end < 0 || end + 22 + view.getUint16(end + 20, true) !== data.length) throw new Odd("this zip has no end");
  const entries = [];
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left; left--) {
    if (view.getUint32(at, true) !== ENTRY) throw new Odd("this zip is damaged");
    const [name, more, note] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    entries.push({
      name: textOf(data, at + 46, name),
      more: textOf(data, at + 46 + name, more),
      method: view.getUint16(at + 10, true),
      packed: view.getUint32(at + 20, true),
      start: view.getUint32(at + 42, true),
    });
    at += 46 + name + more + note;
  }
  if (at !== end) throw new Odd("this zip has more than it says");
  return entries;
}

const textOf = (data, at, length) => String.fromCharCode(...data.subarray(at, at + length));

// The one record in it: whoever unpacks it gets no other one in its place.
export function recordOf(data) {
  const entries = entriesOf(data);
  if (!entries.every(isPlain)) throw new Doubtful("A name in this file can be read in two ways.");
  const names = entries.map(({ name }) => onADisk(name));
  const records = entries.filter((_, at) => /[^/]\.jsonl?$/.test(names[at]) && !names[at].startsWith(OF_A_MAC));
  if (!records.length) throw new Odd("there is no record in this zip");
  if (records.length > 1) throw new Doubtful("There is more than one record in this file.");
  if (new Set(names).size < names.length) throw new Doubtful("A name is in this file twice.");
  return unpacked(data, records[0]);
}

// ASCII, and no field of a second name, whose number is written as these two letters.
const isPlain = ({ name, more }) => /^[\w .,()+@/-]+$/.test(name) && !more.includes("up");

// A name as disks take it that tell no capital letters apart and leave out what ends a part.
const onADisk = (name) => name.toLowerCase().split("/").map((part) => part.replace(/[ .]+$/, "")).filter(Boolean).join("/");

async function unpacked(data, { name, method, packed, start }) {
  const view = viewOf(data);
  if (view.getUint32(start, true) !== LOCAL) throw new Odd("this zip is damaged");
  if (textOf(data, start + 30, view.getUint16(start + 26, true)) !== name) throw new Doubtful("The record in this file has two names.");
  const begin = start + 30 + view.getUint16(start + 26, true) + view.getUint16(start + 28, true);
  const content = data.subarray(begin, begin + packed);
  if (method === 0) return content;
  if (method !== 8) throw new Odd("this zip is packed in another way");
  return inflated(content);
}

async function inflated(content) {
  const stream = new Blob([content]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const parts = [];
  let length = 0;
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
    if (length > MOST) throw new Odd("what is in this zip is too large");
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

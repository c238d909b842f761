// What is in a zip: the product's own evidence files, stored or deflated, without passwords and without ZIP64.
import { Odd } from "./python.js";

const [END, ENTRY, LOCAL] = [0x06054b50, 0x02014b50, 0x04034b50];
const MOST = 512 * 1024 * 1024; // bytes that one entry may come to

export const isZip = (data) => data.length > 3 && viewOf(data).getUint32(0, true) === LOCAL;
const viewOf = (data) => new DataView(data.buffer, data.byteOffset, data.byteLength);

// Its entries: names, and a way to what is in each.
export function entriesOf(data) {
  const view = viewOf(data);
  let end = data.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== END) end--;
  if (end < 0) throw new Odd("this zip has no end");
  const entries = [];
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left; left--) {
    if (view.getUint32(at, true) !== ENTRY) throw new Odd("this zip is damaged");
    const [name, more, note] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    entries.push({
      name: new TextDecoder().decode(data.subarray(at + 46, at + 46 + name)),
      method: view.getUint16(at + 10, true),
      packed: view.getUint32(at + 20, true),
      start: view.getUint32(at + 42, true),
    });
    at += 46 + name + more + note;
  }
  return entries;
}

export async function unpacked(data, { method, packed, start }) {
  const view = viewOf(data);
  if (view.getUint32(start, true) !== LOCAL) throw new Odd("this zip is damaged");
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

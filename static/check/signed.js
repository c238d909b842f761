// Whose word it is: verifier keys, and the checkpoints that are signed with them. Ed25519 is the browser's own.
import { Odd } from "./python.js";
import { encode, fromBase64, hex, joined, sha256 } from "./sha256.js";

const ROOT = "[A-Za-z0-9+/]{43}=";
const SIGNATURE = "[A-Za-z0-9+/]{90}[AEIMQUYcgkosw048]=";
const NOTE = `((\\S+)\\n([1-9]\\d{0,17})\\n(${ROOT})\\n)\\n— (\\S+) (${SIGNATURE})\\n`;
const PART = /^[> ]*(?:magi\/[0-9a-f]*|[A-Za-z0-9+/]{43}=)\s*$|\n\n— |^ma?g?i?\s*$(?![^])/mu; // of a damaged NOTE

export class NotSigned extends Odd {
  message = "A checkpoint is not signed with this key.";
}
export class NoEd25519 extends Error {} // in this browser, or on a page without HTTPS

// ---- keys ----

const P = 2n ** 255n - 19n;

function power(base, exponent) {
  let result = 1n;
  for (base %= P; exponent; exponent >>= 1n, base = (base * base) % P) if (exponent & 1n) result = (result * base) % P;
  return result;
}

const over = (number) => power(((number % P) + P) % P, P - 2n);
const D = (-121665n * over(121666n)) % P;

// Whether it is the one way to write a point of the curve: the browser does not say.
function isPoint(data) {
  const whole = data.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n);
  const [y, sign] = [whole & (2n ** 255n - 1n), whole >> 255n];
  const square = ((((y * y - 1n) * over(D * y * y + 1n)) % P) + P) % P;
  const isSquare = square === 0n || power(square, (P - 1n) / 2n) === 1n;
  return y < P && isSquare && !(sign && square === 0n);
}

export function keyOf(word) {
  if (typeof word !== "string") throw new Odd("this is no verifier key");
  const [name, number = "", ...rest] = word.split("+");
  const bytes = fromBase64(rest.join("+"));
  const isKey = bytes.length === 33 && bytes[0] === 1 && number === hex(sha256(joined(encode(`${name}\n`), bytes))).slice(0, 8);
  if (!isKey || !isPoint(bytes.slice(1))) throw new Odd("this is no verifier key");
  return { name, number, bytes: bytes.slice(1) };
}

// ---- checkpoints ----

// What each of these notes says, or what is wrong with it: told when it is asked for.
export async function checkpoints(notes, word) {
  const told = new Map();
  for (const note of new Set(notes)) told.set(note, await checkpointOf(note, word).catch(asOdd));
  return (note) => {
    const said = told.get(note);
    if (said instanceof Error) throw said;
    return said;
  };
}

function asOdd(error) {
  if (error instanceof Odd) return error;
  throw error;
}

async function checkpointOf(note, word) {
  if (typeof note !== "string") throw new Odd("a checkpoint is no text");
  const key = keyOf(word);
  const found = new RegExp(`^${NOTE}$`, "u").exec(note);
  if (!found) throw new NotSigned();
  const [, text, log, size, root, by, signature] = found;
  const signed = fromBase64(signature);
  const isTheirs = log === key.name && by === key.name && hex(signed.slice(0, 4)) === key.number;
  if (!isTheirs || !(await isSigned(key.bytes, encode(text), signed.slice(4)))) throw new NotSigned();
  return { size: Number(size), root: hex(fromBase64(root)) };
}

async function isSigned(key, message, signature) {
  if (!globalThis.crypto?.subtle) throw new NoEd25519();
  try {
    const known = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", known, signature, message);
  } catch (error) {
    throw error.name === "NotSupportedError" ? new NoEd25519() : error;
  }
}

// ---- what was kept elsewhere ----

export function notesIn(anchor) {
  if (!anchor.trim()) return [];
  const text = `${anchor.replaceAll("\r\n", "\n")}\n`;
  const notes = text.match(new RegExp(NOTE, "gu")) ?? [];
  if (!notes.length) throw new Odd("There is no checkpoint in it.");
  if (PART.test(text.replace(new RegExp(NOTE, "gu"), ""))) throw new Odd("A checkpoint in it is cut or damaged.");
  return notes;
}

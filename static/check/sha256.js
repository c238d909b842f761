// SHA-256 and HMAC with it (FIPS 180-4, RFC 2104). The browser has both, but only later: a record has thousands of texts,
// and to wait for each takes longer than to work it out.
import { Odd } from "./python.js";

const PRIMES = [];
for (let number = 2; PRIMES.length < 64; number++) {
  if (PRIMES.every((prime) => number % prime)) PRIMES.push(number);
}

// the first 32 bits of what is behind the point of a root
function fraction(root, prime) {
  let [low, high] = [0n, BigInt(prime) << 32n];
  const sought = BigInt(prime) << (32n * root);
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** root <= sought) low = middle;
    else high = middle;
  }
  return Number(low & 0xffffffffn) | 0;
}

const BEGIN = PRIMES.slice(0, 8).map((prime) => fraction(2n, prime));
const ROUNDS = PRIMES.map((prime) => fraction(3n, prime));
const turn = (word, by) => (word >>> by) | (word << (32 - by));

export function sha256(data) {
  const blocks = (data.length + 9 + 63) >> 6;
  const padded = new Uint8Array(blocks * 64);
  padded.set(data);
  padded[data.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(data.length / 2 ** 29));
  view.setUint32(padded.length - 4, data.length << 3);
  const state = Int32Array.from(BEGIN);
  const schedule = new Int32Array(64);
  for (let block = 0; block < blocks; block++) mix(state, schedule, view, block * 64);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, place) => digest.setInt32(place * 4, word));
  return new Uint8Array(digest.buffer);
}

function mix(state, w, view, start) {
  for (let i = 0; i < 16; i++) w[i] = view.getInt32(start + i * 4);
  for (let i = 16; i < 64; i++) {
    const s0 = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >>> 3);
    const s1 = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >>> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
    const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, place) => (state[place] += word));
}

export function hmac(key, data) {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha256(key) : key);
  const inner = sha256(joined(block.map((byte) => byte ^ 0x36), data));
  return sha256(joined(block.map((byte) => byte ^ 0x5c), inner));
}

// ---- bytes ----

const ENCODER = new TextEncoder();

export function encode(text) {
  if (!text.isWellFormed()) throw new Odd("half a character");
  return ENCODER.encode(text);
}

export function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export function fromHex(text) {
  if (typeof text !== "string" || !/^(?:[0-9a-f]{2})*$/i.test(text)) throw new Odd("this is not written in hexadecimal");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function fromBase64(text) {
  if (text.length % 4 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new Odd("this is not written in base64");
  return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
}

export const digestOf = (text) => hex(sha256(encode(text)));

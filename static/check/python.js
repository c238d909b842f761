// JSON and texts as tools/verify.py reads and writes them: whoever reads both files finds the same in the same words.

export class Odd extends Error {} // what odd files lead to

// A number that is no whole one, or too large to be one here: as Python writes it.
class Written {
  constructor(text) {
    this.text = text;
  }
}

// What Python takes for a space.
export const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const OUTER_SPACES = new RegExp(`^${SPACE}+|${SPACE}+$`, "gu");
const SPACES = new RegExp(`${SPACE}+`, "gu");

export const strip = (text) => text.replace(OUTER_SPACES, "");
export const words = (text) => strip(text).split(SPACES).filter(Boolean);
// What Python takes for the end of a line, and the lines between, each with its end.
const END = "\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029";
const LINE = new RegExp(`[^${END}]*(?:\\r\\n|[${END}])|[^${END}]+$`, "gu");
export const linesOf = (text) => text.match(LINE) ?? [];

// ---- reading ----

// What is not there is no value: it is an error, as in Python.
const STRICT = {
  get(object, name) {
    if (typeof name === "symbol" || Object.hasOwn(object, name)) return object[name];
    throw new Odd(`there is no ${name}`);
  },
};

export const isObject = (value) =>
  value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Written);
export const strict = (object) => new Proxy(object, STRICT);
export const get = (object, name, otherwise = null) => (Object.hasOwn(object, name) ? object[name] : otherwise);

// A number to be compared: nothing here stands for one by itself.
export function whole(value) {
  if (typeof value !== "boolean" && !Number.isSafeInteger(value)) throw new Odd("this is no number");
  return Number(value);
}

// A value by which something is looked up: lists and objects are none.
export function name(value) {
  if (value !== null && typeof value === "object") throw new Odd("nothing can be called that");
  return value;
}

export function loads(text) {
  if (typeof text !== "string") throw new Odd("this is no text");
  try {
    return JSON.parse(text, (name, value, context) => {
      if (typeof value === "number") return numberOf(value, context?.source ?? String(value));
      return isObject(value) ? strict(value) : value;
    });
  } catch (error) {
    throw new Odd(error.message); // what is no JSON, or nested too deeply
  }
}

function numberOf(value, source) {
  if (!/^-?\d+$/.test(source)) return new Written(floatOf(value));
  return Number.isSafeInteger(value) ? value + 0 : new Written(source);
}

// As Python writes it: with a point where it is whole, and an exponent from other sizes on.
function floatOf(value) {
  if (!Number.isFinite(value)) throw new Odd("a number is too large");
  const size = Math.abs(value);
  if (Object.is(value, -0)) return "-0.0";
  if (size && (size < 1e-4 || size >= 1e16)) {
    const [digits, sign, exponent] = value.toExponential().split(/e([+-])/);
    return `${digits}e${sign}${exponent.padStart(2, "0")}`;
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

// ---- writing ----

const inCode = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

function quoted(text) {
  if (!text.isWellFormed()) throw new Odd("half a character");
  return JSON.stringify(text);
}

export const inAscii = (text) => JSON.stringify(text).replace(/[^ -~]/g, inCode);

const bySigns = (one, other) => {
  const [a, b] = [[...one], [...other]].map((signs) => signs.map((sign) => sign.codePointAt(0)));
  const at = a.findIndex((code, place) => code !== b[place]);
  return at < 0 ? a.length - b.length : a[at] - (b[at] ?? -1);
};

function write(value, how, indent = "") {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") return String(value);
  if (value instanceof Written) return value.text;
  if (typeof value === "string") return how.quote(value);
  if (value === undefined) throw new Odd("there is nothing");
  const inner = how.lines ? `${indent}  ` : "";
  const parts = Array.isArray(value) ? itemsOf(value, how, inner) : membersOf(value, how, inner);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  if (!how.lines || !parts.length) return open + parts.join(how.between) + close;
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`;
}

const itemsOf = (value, how, inner) => value.map((item) => write(item, how, inner));
const membersOf = (value, how, inner) => {
  const names = how.sorted ? Object.keys(value).sort(bySigns) : Object.keys(value);
  return names.map((name) => how.quote(name) + how.colon + write(value[name], how, inner));
};

export const canonical = (value) => write(value, { quote: quoted, between: ",", colon: ":", sorted: true });
export const dumps = (value) => write(value, { quote: quoted, between: ", ", colon: ": " });
export const dumpsInAscii = (value) => write(value, { quote: inAscii, between: ", ", colon: ": " });
export const laidOut = (value) => write(value, { quote: quoted, colon: ": ", lines: true });

// ---- comparing ----

const short = (value) => [...canonical(value)].slice(0, 99).join("");

export function* differences(found, expected, where = "") {
  if (isObject(found) && isObject(expected)) {
    const names = new Set([...Object.keys(found), ...Object.keys(expected)]);
    for (const name of [...names].sort(bySigns)) {
      yield* differences(get(found, name, "missing"), get(expected, name, "missing"), `${where}${name} `);
    }
  } else if (found !== expected && canonical(found) !== canonical(expected)) {
    yield `${where}is ${short(found)}, expected ${short(expected)}`;
  }
}

export const isSame = (one, other) => canonical(one) === canonical(other);

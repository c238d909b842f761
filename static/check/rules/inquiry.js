// An inquiry: each order by the rules of its course, the end by all of them, quotes where they stand.
import { get, loads, name, SPACE, whole, words as wordsOf } from "../python.js";

const ELLIPSIS = new RegExp(`${SPACE}*(?:\\[${SPACE}*(?:\\.\\.\\.|\\u2026)${SPACE}*\\]|\\u2026|\\.\\.\\.)${SPACE}*`, "u");
const UNSEEN = /[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/gu;
const MARKS = /["`\u00ab\u00b4\u00bb\u2018-\u201f\u2032\u2033\u2039\u203a\u300c-\u300f\u301d-\u301f]/gu;
const DASHES = /[\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d]/gu;

export function* examineInquiry(entries) {
  const asked = entries[0];
  const course = new Course(asked.facts.retry_limit);
  for (const [place, { facts }] of entries.filter((one) => one.kind === "inquiry.order").entries()) {
    const next = facts.number === place + 1 && course.takes(facts);
    if (!next) yield ["An order is not what came next by the rules", `: order ${place + 1}`];
  }
  const { kind, facts: end } = entries.at(-1);
  const due = course.now !== "over" ? "nothing" : course.ended || "answered";
  if (kind === "ended" && end.status === "finished" && end.outcome !== due) {
    yield ["The outcome does not follow from the orders", `: ${end.outcome}, not ${due}`];
  }
  if (due === "answered") yield* examineAnswer(entries);
  const sources = entries.filter((one) => one.kind === "inquiry.source");
  const read = new Map(sources.map((one) => [name(one.facts.number), get(one.texts, "text")]));
  for (const claim of entries.filter((one) => one.kind === "inquiry.claim")) yield* examineQuotes(claim, asked, read);
}

// The answer is the one that was approved, with the places of its claims; until version 2 a model worded it.
function* examineAnswer(entries) {
  const work = entries.filter((one) => one.kind === "inquiry.order" && one.facts.kind === "work").at(-1);
  const [said, reply] = [get(entries.at(-1).texts, "answer"), work ? get(work.texts, "reply") : null];
  if (!said || !reply || ["1", "2"].includes(entries[0].facts.prompt_version)) return;
  const claims = entries.filter((one) => one.kind === "inquiry.claim").map((one) => one.facts);
  const its = claims.filter((one) => name(one.order) === name(work.facts.number));
  const places = its.map((one) => ` [claim:${name(one.number)}]`);
  if (said !== loads(reply).text + places.join("")) yield ["The answer is not the one that was approved", ""];
}

function* examineQuotes(claim, asked, read) {
  for (const [place, { source, parts }] of claim.facts.quotes.entries()) {
    const quote = get(claim.texts, `quote ${place + 1}`);
    const text = get(asked.texts, `text of A${source}`, read.get(name(source)) ?? null);
    if (quote !== null && text !== null && !stands(quote, text, parts)) {
      yield ["A quote does not stand where it is said to", `: claim ${claim.facts.number}`];
    }
  }
}

// Whether these pieces of a text are the quote, or its parts between ellipses.
function stands(quote, text, parts) {
  const signs = [...text]; // places are counted in characters
  const found = JSON.stringify(parts.map(([start, end]) => plain(signs.slice(start, end).join(""))));
  const between = quote.split(ELLIPSIS).map(plain).filter(Boolean);
  return found === JSON.stringify([plain(quote)]) || found === JSON.stringify(between);
}

// As docs/audit.md says of quotes.
function plain(text) {
  const same = text.replace(UNSEEN, "").normalize("NFKC").replace(MARKS, "'").replace(DASHES, "-");
  return wordsOf(same).join(" ");
}

const RECOVERS = ["network", "validation", "tool", "content_filter"];

// Where an inquiry stands after each of its orders; `ended`: how, once nothing but the last is left.
class Course {
  now = "planner";
  index = 0;
  steps = 0;
  back = 0;
  errors = 0;
  ended = "";
  broke = "";
  stopping = false;
  answered = false;
  answerable = true;
  anew = 0;

  constructor(limit) {
    this.limit = whole(limit);
  }

  takes({ kind, station, counts, review, category }) {
    if (kind === "retry") return this.#retry();
    if (kind === "hint" || kind === "final" || this.now === "finalizer" || this.now === "over") {
      const fits = kind === "hint" || (kind === "final" && this.now === "finalizer");
      if (kind === "final") this.now = "over";
      return fits;
    }
    if (["stop", "replan", "exhausted"].includes(kind)) return this.#word(kind, counts);
    return station === this.now && this.#work(kind, station, counts, review, category);
  }

  #retry() {
    const fits = this.ended === "failed";
    [this.now, this.ended] = [this.broke, ""];
    [this.back, this.errors] = [this.back - this.errors, 0];
    return fits;
  }

  #work(kind, station, counts, review, category) {
    if (kind === "work" && !station.startsWith("critic_")) return this.#handedIn(station, counts);
    if (kind === "error") return this.#error(station, category);
    const [passed, of] = [review === "approve", station.slice("critic_".length)];
    if (kind !== "review" || !station.startsWith("critic_") || !["approve", "reject"].includes(review)) return false;
    if (passed) this.index = this.stopping ? this.steps : of === "planner" ? 0 : this.index + 1;
    this.answered = this.answered && !(passed && of === "planner");
    const onward = of === "expert" ? "finalizer" : this.index < this.steps ? "researcher" : "expert";
    this.back += Number(!passed);
    this.now = passed ? onward : this.stopping ? "expert" : of;
    this.stopping = false;
    if ((this.back >= this.limit && !passed) || (passed && of === "expert" && !this.answerable)) {
      [this.now, this.ended] = ["finalizer", "unanswered"];
    }
    return true;
  }

  #handedIn(station, counts) {
    this.now = `critic_${station}`;
    if (station === "planner") this.steps = whole(counts.research);
    if (station === "expert") [this.answered, this.answerable] = [true, counts.found];
    return true;
  }

  #error(station, category) {
    const recovers = RECOVERS.includes(category);
    this.back += Number(recovers);
    this.errors += Number(recovers);
    if (this.stopping && station === "researcher") this.now = "expert";
    if (!recovers || this.back >= this.limit) [this.now, this.ended, this.broke] = ["finalizer", "failed", station];
    return true;
  }

  #word(kind, counts) {
    const once = kind === "stop" && this.now === "researcher" && Boolean(get(counts, "begun")) && !this.stopping;
    this.anew += Number(kind === "replan");
    const stops = this.now === "researcher" || (this.now === "expert" && this.answered) || kind !== "stop";
    const [fits, ends] = [stops && this.anew <= 3, kind === "exhausted" || (kind === "stop" && this.now === "expert")];
    const onward = ends ? "finalizer" : kind === "replan" ? "planner" : "expert";
    if (!once) this.now = onward;
    this.ended = ends ? "unanswered" : "";
    this.stopping = once;
    return fits;
  }
}

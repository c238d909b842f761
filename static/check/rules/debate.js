// A debate: seed, draws, clock and end. Why else somebody had the floor is believed.
import { differences, get, isSame, name, Odd, whole } from "../python.js";
import { encode, fromHex, hex, hmac, joined, sha256 } from "../sha256.js";

export function* examineDebate(entries) {
  const facts = entries.map((entry) => [entry.kind, entry.facts]);
  const asked = facts[0][1];
  const end = facts.findLast(([kind]) => kind === "ended")?.[1] ?? { status: "" };
  const of = (kind) => facts.filter(([name]) => name === `debate.${kind}`).map(([, one]) => one);
  const [turns, acts] = [of("turn"), of("steered")];
  const said = facts.map(([, one]) => one).filter((one) => Object.hasOwn(one, "clock"));
  said.sort((one, other) => whole(one.number) - whole(other.number));
  const seed = fromHex(get(end, "seed", ""));
  yield* examineSeed(end, seed, asked, get(entries[0].texts, "word"));
  for (const turn of turns) yield* examineDraw(turn, said, seed);
  yield* examineClock(said);
  if (end.status !== "finished") return;
  const due = comeTo(asked.rule, asked.options.map((one) => one.word), verdictsOf(asked, turns, acts, said));
  for (const how of differences(end, { ...end, ...due }, ": ")) {
    yield ["The outcome or the tally does not follow from the verdicts", how];
  }
}

function* examineSeed(end, seed, asked, word) {
  if (!Object.hasOwn(end, "seed")) return;
  const made = word ? sha256(joined(fromHex(get(end, "seed_random", "")), encode(word))) : seed;
  if (hex(sha256(seed)) !== asked.seed_sha256 || hex(seed) !== hex(made)) {
    yield ["The seed is not the one that was fixed when the debate was submitted.", ""];
  }
}

function* examineDraw(turn, said, seed) {
  const heard = said.filter((one) => one.clock && whole(one.number) <= whole(turn.after)).map((one) => get(one, "seat"));
  const times = (seat) => heard.filter((one) => one === seat).length;
  const weights = turn.weights.map(([seat]) => [seat, Math.max(1, 10 - times(seat))]);
  const walk = weights.flatMap(([seat, share]) => Array(share).fill(seat));
  if (!walk.length) return;
  const ticket = seed.length ? ticketOf(seed, turn.number, walk.length) : turn.ticket;
  if (!isSame([weights, ticket, walk.at(ticket)], [turn.weights, turn.ticket, turn.seat])) {
    yield ["A draw is not what the seed and the messages before it give", `: turn ${turn.number}`];
  }
}

function ticketOf(seed, number, total) {
  const [all, among] = [2n ** 64n, BigInt(total)];
  for (let k = 0; ; k++) {
    const drawn = BigInt(`0x${hex(hmac(seed, encode(`${number}.${k}`)).slice(0, 8))}`);
    if (drawn < all - (all % among)) return Number(drawn % among);
  }
}

// Members' messages count, and after each fourth of them stands a note.
function* examineClock(said) {
  let [clock, noted] = [0, null];
  for (const one of said) {
    const where = `: message ${one.number}`;
    const counts = get(one, "kind") === "said" && one.continues === null;
    if (Object.hasOwn(one, "note")) {
      const due = noted === null ? "opening" : clock % 20 ? "reminder" : "deadline";
      if (one.note !== due || one.after !== clock || clock % 4 || noted === clock) yield ["A note was not due", where];
      noted = clock;
    } else if (["said", "closing"].includes(get(one, "kind")) && (noted === null || (clock % 4 === 0 && noted !== clock))) {
      yield ["A note is missing before it", where]; // the chair, and who leaves out of turn, have none
    }
    clock += Number(counts);
    if (one.clock !== (counts ? clock : null)) yield ["The clock is wrong", where];
  }
}

function verdictsOf(asked, turns, acts, said) {
  const own = turns.filter((turn) => turn.why !== "challenge").map((turn) => turn.number); // that is nobody's opinion
  const isAct = (one) => Object.hasOwn(one, "act");
  const isOwn = (one) => own.includes(get(one, "turn")) || get(one, "kind") === "leaving";
  const stated = [...said, ...acts].filter((one) => isAct(one) || isOwn(one));
  const placeOf = (one) => whole(isAct(one) ? one.after : one.number);
  stated.sort((one, other) => placeOf(one) - placeOf(other));
  const stood = new Map();
  for (const one of stated) if (one.verdict || one.abstained) stood.set(name(one.seat), one.verdict || "ABSTAIN");
  return asked.members.filter((member) => member.kind === "member").map((member) => stood.get(name(member.seat)) ?? "");
}

function comeTo(rule, options, verdicts) {
  if (!options.length) throw new Odd("there are no options");
  const times = (word) => verdicts.filter((verdict) => verdict === word).length;
  const [count, all, none] = [options.map(times), verdicts.length, times("ABSTAIN")];
  const most = Math.max(...count);
  const needed = { majority: Math.floor(all / 2) + 1, two_thirds: Math.ceil((2 * all) / 3), unanimous: Math.max(2, all - none) };
  let first = options.filter((_, place) => count[place] === most);
  if (rule === "median") first = medians(options, count);
  let code = first.length > 1 ? "tie" : "";
  if (2 * count.reduce((sum, one) => sum + one, 0) <= all) code = "quorum";
  if (rule === "none") code = "no_rule";
  if (!code && most < get(needed, rule, rule === "plurality" ? 2 : 1)) code = "too_few";
  const tally = options.map((option, place) => [option, count[place]]);
  const outcome = code ? "no_decision" : first[0];
  return { tally, abstained: none, missing: times(""), base: all, no_decision: code, outcome };
}

function medians(options, count) {
  const inOrder = options.flatMap((option, place) => Array(count[place]).fill(option));
  const [from, to] = [Math.floor((inOrder.length - 1) / 2), Math.floor(inOrder.length / 2)];
  return [...new Set(inOrder.slice(Math.max(from, 0), to + 1))].sort();
}

// Three agents in three rounds: a decision against its answer and what was asked, the end against all nine.
import { canonical, differences, dumps, dumpsInAscii, get, inAscii, loads, name, Odd, strict, strip } from "../python.js";
import { digestOf } from "../sha256.js";
import { procedureOf } from "./all.js";

const WEIGHTS = new Map([[1, 1], [2, 4], [3, 5]]); // of the rounds, in tenths
// By version: signs of a boundary; SHA-256, begun, of a complaint and of what each round says by itself.
const ASKED = new Map([
  ["1", "32 be6aa23e01ff327965a0bc28 f3188361b6fa8679f36caa7c f844b751ce122d952c3fef25 d49aefc0f1c5bb4deaf81bda"],
  ["2", "8 be6aa23e01ff327965a0bc28 bb4a67ff213d39ce643007a8 c0088080908c6de3991a35c0 2324c01cfdc6698515896d1e"],
  ["3", "8 be6aa23e01ff327965a0bc28 21e262dc9cd9ad16550062aa bb6c2d2c6ac7cb4837941bda f7713cce04bd0e1625f29940"],
]);
const HIDDEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]/gu; // what a reason may not have
const LONGEST = 4000;
const escape = (sign) => inAscii(sign).slice(1, -1);

// `votes`: what was decided so far, by "round seat", each with its reason.
export function* examineDecision(entries, place, votes) {
  const entry = entries[place];
  const facts = entry.facts ?? strict({});
  const made = get(facts, "decision");
  if (made) yield* examineVote(entry, facts, made, entries.slice(0, place), votes);
  if (entry.kind === "ended" && procedureOf(entries) === "judgement") yield* examineEnd(facts, votes);
}

function* examineVote(entry, facts, made, before, votes) {
  const [step, place] = [`${made.seat}${made.round}`, `${made.round} ${made.seat}`];
  if (step !== facts.step || votes.has(place) || !/^[ABC][123]$/.test(step)) {
    yield ["A decision was not asked for there, or is there twice", `: ${step}`];
  }
  if (before.length && before[0].kind === "submitted" && !isAsked(entry, before, votes)) {
    yield ["It was asked something else than was submitted and decided, or in other words", `: ${step}`];
  }
  const reason = get(entry.texts, "reason");
  votes.set(place, { round: made.round, seat: made.seat, decision: made.decision, reason });
  if (!Object.hasOwn(entry.texts, "answer")) return;
  const answer = loads(entry.texts.answer);
  const said = [...strip(answer.reason).replace(HIDDEN, escape)];
  const kept = said.length <= LONGEST ? said.join("") : `${said.slice(0, LONGEST).join("")} …`;
  for (const how of differences({ decision: made.decision, reason }, { ...answer, reason: kept }, ": ")) {
    yield ["The decision or its reason is not what the model answered", how];
  }
}

function* examineEnd(facts, votes) {
  const won = [..."ABC"].map((seat) => [seat, scoreOf(seat, votes)]);
  const verdict = won.filter(([, score]) => score >= 5).length >= 2 ? "approved" : "rejected";
  const decided = votes.size === 9 ? verdict : "none without nine decisions";
  const scores = Object.fromEntries(won.map(([seat, score]) => [seat, `${Math.floor(score / 10)}.${score % 10}`]));
  const ruled = { ...facts, scores, verdict: facts.status === "finished" ? decided : null };
  for (const how of differences(facts, ruled, ": ")) {
    yield ["The verdict or the scores do not follow from the decisions", how];
  }
}

const scoreOf = (seat, votes) =>
  [...WEIGHTS].reduce((sum, [round, weight]) => sum + weight * (votes.get(`${round} ${seat}`)?.decision === "approve"), 0);

// Whether a model was asked for its decision about what was submitted, no more.
function isAsked(attempt, before, votes) {
  const [asked, facts, prompt] = [before[0], attempt.facts, get(attempt.texts, "prompt")];
  if (!(prompt && get(asked.texts, "content"))) return true;
  const version = name(asked.facts.prompt_version);
  if (!ASKED.has(version)) return true;
  const [signs, ...known] = ASKED.get(version).split(" ");
  const { seat, round } = facts.decision;
  const texts = loads(prompt).map((message) => message.content);
  const [system, user, ...more] = texts;
  const found = new RegExp(`^BEGIN MATERIAL ([0-9a-f]{${signs}})\n([^\n]*)\nEND MATERIAL \\1(?:\n\n([^\n]*))?$`, "u").exec(user);
  if (!found) throw new Odd("it was asked in another form");
  const [, boundary, material, situation] = found;
  const follows = asked.facts.agents.findLast((agent) => agent.seat === seat)?.criteria;
  const parts = system.split(`\nCRITERIA ${boundary}\n${follows}\nEND CRITERIA ${boundary}\n`);
  const form = parts.map((text) => text.split(boundary).map((part) => part.split(`gent ${seat} `)));
  const last = lastUnusable(facts.step, before);
  const complaint = more.slice(-1).map((text) => text.split(get(last, "error") || "?"));
  const forms = [situation === undefined ? form : [...form, situation], ...complaint];
  const answered = more.slice(0, -1); // the last answer, of which it complains
  const roles = ["system", "user", ...answered.map(() => "assistant"), "user"];
  const said = texts.map((content, place) => ({ role: roles[place], content }));
  const told = toldBefore(seat, round, votes);
  const earlier = told.length || ["1", "2"].includes(version) ? { earlier_decisions: told } : {};
  const content = { content: asked.texts.content, ...earlier };
  return (
    forms.map((one) => digestOf(canonical(one)).slice(0, 24)).join() === [known[round], ...known.slice(0, complaint.length)].join() &&
    material.replace(/[^ -~]/gu, escape) === dumpsInAscii(content) && // what is escaped may be more or less
    (!answered.length || (situation !== undefined && answered.length === 1 && answered[0] === begun(last))) &&
    prompt === dumps(said)
  );
}

function lastUnusable(step, before) {
  const unusable = before.filter((one) => one.facts && get(one.facts, "error_code") === "unusable_answer");
  return unusable.findLast((one) => one.facts.step === step)?.texts ?? strict({});
}

const begun = (last) => {
  const signs = [...get(last, "answer", "")];
  return signs.length <= 2000 ? signs.join("") : `${signs.slice(0, 2000).join("")} …`;
};

function toldBefore(seat, round, votes) {
  const places = [...votes.keys()].filter((place) => votes.get(place).round < round).sort();
  return places.map((place) => {
    const vote = votes.get(place);
    const agent = `Agent ${vote.seat}${vote.seat === seat ? " (you)" : ""}`;
    return { round: vote.round, agent, decision: vote.decision, reason: vote.reason };
  });
}

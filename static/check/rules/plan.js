// A plan: steps by their table, what began or was used by its gate, and the end by both.
import { get, linesOf, name } from "../python.js";
import { examineUses, gatesOf, isAllowed } from "./gates.js";

const BEFORE = "planned awaiting_feedback approved".split(" "); // how a step stands that has not begun
const STEPS = new Set([ // what happens to it, how it stood, how it stands then
  "  planned",
  ...BEFORE.flatMap((was) => [`changed ${was} planned`, `drop ${was} superseded`, `skip ${was} rejected`]),
  ...`passed planned approved, asked planned awaiting_feedback, approve awaiting_feedback approved,
    reject awaiting_feedback rejected, begin approved action_requested, reply action_requested completed,
    give_up action_requested failed, again failed action_requested, skip action_requested failed,
    skip failed failed`.split(/,\s+/),
]);

export function* examinePlan(entries) {
  const gates = gatesOf(entries);
  const policy = entries[0].facts.policy;
  const steps = new Map();
  for (const { facts, texts } of entries.filter((one) => one.kind === "plan.step")) {
    const before = steps.get(name(facts.step)) ?? { was: "", held: {}, action: null };
    const now = Object.hasOwn(facts, "held") ? { held: facts.held, action: get(texts, "action") } : before;
    steps.set(facts.step, { was: facts.status, held: now.held, action: now.action });
    for (const why of examineStep(facts, before.was, now, gates, policy)) yield [why, `: step ${facts.step}`];
  }
  yield* examineUses(entries, gates, policy.calls, () => "writes");
  yield* examineEnd(entries, steps, gates);
}

function* examineEnd(entries, steps, gates) {
  const { kind, facts } = entries.at(-1);
  const stopped = [...gates.values()].some(({ decided }) => decided.some((one) => get(one, "choice") === "end"));
  const completed = [...steps].filter(([, one]) => one.was === "completed");
  const claimed = completed.some(([number, { held }]) => claims(number, held, entries));
  const early = ["1", "2"].includes(entries[0].facts.prompt_version); // they knew no such word
  const done = claimed ? [...(early ? ["done"] : []), "claimed"] : ["done"];
  const worked = completed.length ? done : ["failed", "rejected"];
  const due = stopped ? ["rejected"] : worked;
  if (kind === "ended" && facts.status === "finished" && !due.includes(facts.outcome)) {
    yield ["The outcome does not follow from the steps", `: ${facts.outcome}, not ${due.join(" or ")}`];
  }
}

const EFFECTS = ["reads", "writes", "reaches_out"];

// Whether no tool did what a completed step was there for.
function claims(number, held, entries) {
  const calls = entries.filter((one) => one.kind === "tool" && one.facts.step.startsWith(`step-${number}-`));
  const did = calls.filter((one) => one.facts.status === "done").map((one) => EFFECTS.indexOf(one.facts.effect));
  return held.owner !== "Person" && Math.max(0, ...did) < EFFECTS.indexOf(held.effect);
}

function* examineStep(facts, was, { held, action }, gates, policy) {
  const { event, step: number } = facts;
  if (!STEPS.has(`${name(event)} ${was} ${name(facts.status)}`)) yield "A step did not come to stand so by the rules";
  const asked = [...gates.values()].filter((gate) => gate.facts.step === `step-${number}`);
  if (event === "approve" && !asked.some((gate) => isAllowed(gate) && tells(gate.text, held, action))) {
    yield "Nobody has approved a step as it was to be carried out";
  }
  if (event === "passed" && held.owner !== "Person" && policy.steps[held.effect].who !== "open") {
    yield "Nobody was asked about a step that somebody has to approve";
  }
}

// Whether the text of a gate is about this step; what was erased may be.
function tells(text, held, action) {
  if (text !== null && !held.tools.every((tool) => text.includes(`\nTool: ${tool}, `))) return false;
  const setIn = () => linesOf(action).map((line) => `    ${line}`).join("");
  return text === null || action === null || text.includes(`Action:\n${setIn()}`);
}

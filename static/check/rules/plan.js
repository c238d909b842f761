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
  yield* examineEnd(entries.at(-1), [...steps.values()].map((one) => one.was), gates);
}

function* examineEnd({ kind, facts }, standing, gates) {
  const stopped = [...gates.values()].some(({ decided }) => decided.some((one) => get(one, "choice") === "end"));
  const worked = standing.includes("completed") ? ["done"] : ["failed", "rejected"];
  const due = stopped ? ["rejected"] : worked;
  if (kind === "ended" && facts.status === "finished" && !due.includes(facts.outcome)) {
    yield ["The outcome does not follow from the steps", `: ${facts.outcome}, not ${due.join(" or ")}`];
  }
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

// A mission: all that is in order without a gap, what left by its gate, done by its check.
import { canonical, get, name } from "../python.js";
import { examineUses, gatesOf, whatLeaves } from "./gates.js";

// What has numbers, and of what; a memory is in use in prompts, and then no longer.
const ORDERED = new Map([
  ["mission.step", ["agent"]],
  ["mission.input", ["terminal"]],
  ["mission.message", []],
  ["mission.terminal", []],
  ["mission.recalled", ["agent", "memory", "version"]],
]);

export function* examineMission(entries) {
  yield* examineOrder(entries.filter((entry) => ORDERED.has(entry.kind)));
  yield* examineUses(entries, gatesOf(entries), entries[0].facts.policy, whatLeaves);
  yield* examineEnd(entries);
}

function* examineOrder(entries) {
  const counts = new Map();
  for (const { kind, facts: one } of entries) {
    const place = canonical([kind, ...ORDERED.get(kind).map((fact) => name(get(one, fact)))]);
    const [before, now] = [counts.get(place) ?? 0, get(one, "number", get(one, "on"))];
    if (Number(now) !== (Object.hasOwn(one, "on") ? Number(!before) : Number(before) + 1) || now === null) {
      yield ["It is not what is next of its kind, or one is missing", `: ${kind} ${now}`];
    }
    counts.set(place, now);
  }
}

function* examineEnd(entries) {
  const tools = new Map();
  for (const { facts: one } of entries.filter((entry) => entry.kind === "mission.step")) {
    tools.set(JSON.stringify([name(one.agent), name(one.number)]), one.tool);
  }
  const good = entries.filter((entry) => entry.kind === "mission.result" && entry.facts.ok);
  const finished = good.some(({ facts: one }) => tools.get(JSON.stringify([name(one.agent), name(one.number)])) === "finish");
  const asked = entries[0].facts;
  const { kind, facts: end } = entries.at(-1);
  const check = entries.find((entry) => entry.kind === "mission.check")?.facts.exit_code ?? asked.check_wanted;
  const passed = check === 0 || check === false; // where no check ran: none was wanted
  if (kind === "ended" && end.status === "finished" && !(finished && (passed || get(end, "outcome") !== "done"))) {
    yield ["The outcome does not follow from the check", `: ${end.outcome}`];
  }
}

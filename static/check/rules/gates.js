// What was asked at gates, and whether what was done with a tool was allowed there: of a plan and of a mission.
import { canonical, get, laidOut, loads, name, strict, whole } from "../python.js";

const keyOf = (step, number) => JSON.stringify([name(step), name(number)]);
const LEAVES = new Map([["run_with_network", "network"], ["publish_commit", "publish"]]); // a mission, by its policy

export function gatesOf(entries) {
  const gates = new Map();
  for (const { facts, texts } of entries.filter((one) => one.kind === "gate")) {
    gates.set(keyOf(facts.step, facts.number), { facts, text: get(texts, "text"), decided: [] });
  }
  for (const { facts } of entries.filter((one) => one.kind === "decided")) {
    gates.get(keyOf(facts.step, facts.number)).decided.push(facts);
  }
  return gates;
}

// Each use of a tool. Once more of what was allowed is nothing new. `whatOf`: under what its policy stands.
export function* examineUses(entries, gates, policy, whatOf) {
  for (const { facts, texts } of entries.filter((one) => one.kind === "tool" && one.facts.status === "done")) {
    const due = get(policy, whatOf(facts), strict({ who: "person" }));
    for (const why of examineUse(facts, get(texts, "arguments"), gates, due)) yield [why, `: ${facts.tool} in ${facts.step}`];
  }
}

export const whatLeaves = (facts) => LEAVES.get(name(facts.tool)) ?? "";

function* examineUse(facts, args, gates, due) {
  const gate = gates.get(keyOf(facts.step, get(facts, "gate")));
  const free = facts.effect === "reads" || facts.contained || whole(facts.number) > 1;
  const named = gate || Object.hasOwn(facts, "gate");
  if (!(named || free || (facts.effect === "writes" && due.who === "open"))) yield "A tool was used, and nobody was asked";
  const shown = () => gate.text === null || args === null || shows(gate.text, facts, args);
  if (named && !(gate && isAllowed(gate) && shown())) yield "Nobody has approved the use of a tool as it was done";
  if (LEAVES.has(name(facts.tool)) && !isLetOut(gate, due)) yield "It left a mission that was not to let it out so";
}

function isLetOut(gate, due) {
  const asked = gate && gate.facts.kind === "tool" ? gate.facts.policy : due;
  return due !== "never" && [due.who, "both"].includes(asked.who);
}

// Whether what was said there comes to a yes by its policy, or somebody said what became of it.
export function isAllowed({ facts, decided }) {
  const persons = decided.filter((one) => !Object.hasOwn(one, "judged_by"));
  const said = new Set(decided.map((one) => name(one.said)));
  if (facts.kind === "uncertain") return decided.some((one) => ["do", "happened"].includes(get(one, "choice")));
  if (said.has("expire") || said.has("fail") || persons.some((one) => one.said === "reject")) return false;
  const others = persons.filter((one) => !get(one, "authors", []).includes(name(one.by))); // whose words are not in it
  const yes = others.filter((one) => one.said === "approve" || one.said === "override");
  const enough = new Set(yes.map((one) => name(one.by))).size >= whole(facts.policy.persons);
  const byCouncil = decided.some((one) => Object.hasOwn(one, "judged_by") && one.said === "approve");
  const council = byCouncil || said.has("override");
  const cut = Object.hasOwn(facts, "whole"); // no council opens it alone
  if (facts.policy.who === "council" && !cut) return said.has("turn") ? enough : council;
  if (["both", "council"].includes(facts.policy.who)) return enough && (council || said.has("turn"));
  return enough;
}

// Whether the text of a gate is about this: laid out, or each argument in a line and the last with all its lines.
function shows(text, use, args) {
  const [read, head, end] = [loads(args), `${use.tool}, which `, `\nDefinition of the tool: ${use.definition}`];
  if (text.includes(head) && text.includes(`${laidOut(read)}${end}`)) return true;
  const last = ["difference", "text"].find((name) => Object.hasOwn(read, name)) ?? "command";
  const told = Object.keys(read).filter((one) => one !== last).map((one) => canonical([one, read[one]]));
  const body = after(after(text, head), "\n").replace(/^Text of strangers was read before\.\n/u, "");
  const lines = body.split("\n").slice(0, told.length);
  const said = `${[...lines, `${last}:`, String(get(read, last, "None"))].join("\n")}${end}`;
  return canonical(lines.map(argumentIn).sort()) === canonical(told.sort()) && body === said;
}

// By its value, for whoever cannot tell 30.0 from 30.
const argumentIn = (line) => canonical([line.split(": ", 1)[0], loads(after(line, ": "))]);
const after = (text, sign) => (text.includes(sign) ? text.slice(text.indexOf(sign) + sign.length) : "");

// Of each kind, by which rule its record is looked at; all kinds of today are in this folder.
import { get, name, strict } from "../python.js";
import { examineDebate } from "./debate.js";
import { examineInquiry } from "./inquiry.js";
import { examineMission } from "./mission.js";
import { examinePlan } from "./plan.js";

export const RULES = new Map([
  ["debate", examineDebate],
  ["plan", examinePlan],
  ["inquiry", examineInquiry],
  ["mission", examineMission],
]);

export const procedureOf = (entries) =>
  entries.length ? name(get(entries[0].facts ?? strict({}), "procedure", "judgement")) : "judgement";

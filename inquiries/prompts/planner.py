"""Prompt of the planner, and parsing of its plan."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.llm.own_words import says_nothing
from engine.llm.shapes import TEXT, list_of, object_of

from ..rules.events import PlanSubmitted
from ..rules.limits import STEP_LENGTHS, STEPS
from .common import InquiryAnswer, Messages, parse_answer, required_text, role_messages

ROLE = """\
# Your role

You plan how a question is answered, and answer nothing yourself. First come steps of research, one at a time, by \
somebody who sees its own step, what earlier steps have found, and the sources. So write in each step, by names that \
stand in the question, what is to be found out and when it is found. There may be none, where nothing has to be looked \
up. Then come the steps of an expert: what to conclude or work out from the results, in order, the last of which is \
the answer. Take as few steps as will do. Where former plans were sent back, heed what was said of them.

At most {steps} steps of each kind, each of {least} to {most} characters, no two of them alike."""
FORM = """\
It has three keys. "thought" is a text of one sentence, which everybody may read: why these steps. "research_steps" \
is a list of texts, one for each step of research: what has to be found out, and no answer to it. "expert_steps" is a \
list of texts, one for each step of the expert, and has one at least: what to conclude or to work out, in words."""
LONGEST_PLAN = 2 * STEPS * STEP_LENGTHS[1]  # characters
SCHEMA = object_of({"thought": TEXT, "research_steps": list_of(TEXT), "expert_steps": list_of(TEXT)})
EXACT = object_of({"thought": TEXT, "research_steps": list_of(TEXT, STEPS), "expert_steps": list_of(TEXT, STEPS, 1)})


@dataclass(frozen=True)
class EarlierResearchPlan:
    research_steps: Sequence[str]
    expert_steps: Sequence[str]


@dataclass(frozen=True)
class ResearchBrief:
    """Input of the planner's prompt. `feedback`: rejections of former plans and texts of people, oldest first;
    `earlier`: question, answer and claims of the inquiry that this one follows."""

    question: str
    sources: Sequence[dict[str, str]]
    tools: Sequence[str]
    today: str = ""
    earlier: Mapping[str, Any] | None = None
    former_plans: Sequence[EarlierResearchPlan] = ()
    feedback: Sequence[dict[str, str]] = ()
    hints: Sequence[dict[str, str]] = ()


@dataclass(frozen=True)
class ResearchPlan:
    thought: str
    steps: PlanSubmitted


class _ResearchPlanAnswer(InquiryAnswer):
    thought: str = ""
    research_steps: list[str]
    expert_steps: list[str]


def planner_messages(brief: ResearchBrief, mark: str | None = None, left_out: str = "") -> Messages:
    least, most = STEP_LENGTHS
    role = ROLE.format(steps=STEPS, least=least, most=most)
    return role_messages(role, FORM, asdict(brief), mark, left_out=left_out)


def own_texts(plan: ResearchPlan) -> list[str]:
    """Return the texts of a plan that must not repeat the instructions."""
    return [plan.thought, *plan.steps.research, *plan.steps.expert]


def read_plan(text: str, tools: Sequence[str] = ()) -> ResearchPlan:
    """Parse a plan; a repeated step is kept once. `tools`: names that alone are no steps.

    Raises ValueError with a sentence that tells the planner what to correct.
    """
    answer = parse_answer(_ResearchPlanAnswer, text)
    if not answer.expert_steps:
        raise ValueError("“expert_steps” is empty: at least one has to lead to the answer.")
    research, expert = (_steps(getattr(answer, name), name, tools) for name in ("research_steps", "expert_steps"))
    return ResearchPlan(answer.thought.strip(), PlanSubmitted(research, expert))


def _steps(steps: list[str], name: str, tools: Sequence[str]) -> tuple[str, ...]:
    if len(steps) > STEPS:
        raise ValueError(f"“{name}” has {len(steps)} steps, and {STEPS} are taken.")
    least, most = STEP_LENGTHS
    found = tuple(required_text(step, name, most) for step in steps)
    if short := [step for step in found if len(step) < least]:
        raise ValueError(f"“{short[0]}” in “{name}” says too little: a step has at least {least} characters.")
    if empty := [step for step in found if says_nothing(step, tools)]:
        raise ValueError(f"“{empty[0]}” in “{name}” is no step: write in a sentence what has to be done.")
    once = dict[str, str]()
    for step in found:
        once.setdefault(step.casefold(), step)
    return tuple(once.values())
